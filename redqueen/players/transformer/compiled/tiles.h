// Products of few rows with packed weights: every weight is read once, in the order in which it lies in memory.
//
// Rows and weights are cut into tiles. Rows [n, width] are kept as tiles of 16 rows by 32 numbers, one after the other,
// those of 16 rows first. Weights [out, in] are kept as blocks of 32 of their rows; a block is a run of tiles of 32 x 32,
// as the kernel of their precision reads them. Sums are float32, in the same order for any number of rows.

#pragma once

#include "numbers.h"

#include <omp.h>

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif
#if defined(__AMX_BF16__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

constexpr long ROWS = 16, SIDE = 32;     // of a tile of rows
constexpr long TILE_OF_ROWS = ROWS * SIDE;
constexpr long PASS = 2 * ROWS;          // rows that are multiplied with a block at once
constexpr long GROUP = 4;                // blocks that stay in the cache for the next rows
constexpr long TERMS = 128;              // of float32, in one sum
constexpr long FORESEEN = 8192;          // bytes of weights that are asked for before they are read

typedef float Sums[PASS][SIDE];

// How rows meet a block: as the first that do, so that it comes from memory; and whether the sums begin with it.
struct How {
    bool first, begins;
};

inline long tiled(long row, long column, long width) {
    return ((row / ROWS) * (width / SIDE) + column / SIDE) * TILE_OF_ROWS + (row % ROWS) * SIDE + column % SIDE;
}

inline long whole_rows(long n) { return (n + PASS - 1) / PASS * PASS; }

inline void foresee(const void* from, long bytes) {
    for (long at = 0; at < bytes; at += 64) __builtin_prefetch((const char*)from + FORESEEN + at, 0, 2);
}

// --- float32 ---------------------------------------------------------------------------------

typedef float Sixteen __attribute__((vector_size(64)));

template <int R> inline void add_rows(const float* rows, const float* weight, long tiles, How how, Sums sums, long from) {
    Sixteen left[R] = {}, right[R] = {};
    for (long tile = 0; tile < tiles; ++tile, rows += TILE_OF_ROWS, weight += SIDE * SIDE) {
        if (how.first) foresee(weight, sizeof(float) * SIDE * SIDE);
        for (long k = 0; k < SIDE; ++k) {
            Sixteen one, other;
            std::memcpy(&one, weight + k * SIDE, 64);
            std::memcpy(&other, weight + k * SIDE + 16, 64);
            for (int r = 0; r < R; ++r) {
                float number = rows[r * SIDE + k];
                left[r] += number * one;
                right[r] += number * other;
            }
        }
    }
    for (int r = 0; r < R; ++r) {
        if (!how.begins) {
            Sixteen one, other;
            std::memcpy(&one, sums[from + r], 64);
            std::memcpy(&other, sums[from + r] + 16, 64);
            left[r] += one;
            right[r] += other;
        }
        std::memcpy(sums[from + r], &left[r], 64);
        std::memcpy(sums[from + r] + 16, &right[r], 64);
    }
}

#if defined(__AVX512BF16__)
template <int R>
inline void add_rows(const bfloat16* rows, const bfloat16* weight, long tiles, How how, Sums sums, long from) {
    __m512 left[R], right[R];
    for (int r = 0; r < R; ++r) {
        left[r] = how.begins ? _mm512_setzero_ps() : _mm512_loadu_ps(sums[from + r]);
        right[r] = how.begins ? _mm512_setzero_ps() : _mm512_loadu_ps(sums[from + r] + 16);
    }
    for (long tile = 0; tile < tiles; ++tile, rows += TILE_OF_ROWS, weight += SIDE * SIDE) {
        if (how.first) foresee(weight, sizeof(bfloat16) * SIDE * SIDE);
        for (long pair = 0; pair < SIDE / 2; ++pair) {
            __m512bh one = (__m512bh)_mm512_loadu_si512(weight + pair * SIDE);
            __m512bh other = (__m512bh)_mm512_loadu_si512(weight + SIDE * SIDE / 2 + pair * SIDE);
            for (int r = 0; r < R; ++r) {
                int both;
                std::memcpy(&both, rows + r * SIDE + 2 * pair, sizeof both);
                __m512bh number = (__m512bh)_mm512_set1_epi32(both);
                left[r] = _mm512_dpbf16_ps(left[r], number, one);
                right[r] = _mm512_dpbf16_ps(right[r], number, other);
            }
        }
    }
    for (int r = 0; r < R; ++r) {
        _mm512_storeu_ps(sums[from + r], left[r]);
        _mm512_storeu_ps(sums[from + r] + 16, right[r]);
    }
}
#endif

// Adds to the sums what some rows give with one block of a weight, `tiles` long. Sums of 128 terms are added up apart:
// one sum of a thousand would lose two digits; and these weights stay in the nearest cache for the next rows.
template <typename T> void add_in_vectors(const T* rows, const T* weight, long n, long tiles, How how, Sums sums) {
    for (long start = 0; start < tiles; start += TERMS / SIDE) {
        long count = std::min(TERMS / SIDE, tiles - start);
        How now = {how.first, how.begins && start == 0};
        for (long row = 0; row < n; now.first = false) {
            const T* from = rows + ((row / ROWS) * tiles + start) * TILE_OF_ROWS + (row % ROWS) * SIDE;
            const T* weights = weight + start * SIDE * SIDE;
            long left = n - row;
            if (left >= 8) add_rows<8>(from, weights, count, now, sums, row), row += 8;
            else if (left >= 4) add_rows<4>(from, weights, count, now, sums, row), row += 4;
            else if (left >= 2) add_rows<2>(from, weights, count, now, sums, row), row += 2;
            else add_rows<1>(from, weights, count, now, sums, row), row += 1;
        }
    }
}

// --- bfloat16 by the processor's tiles ---------------------------------------------------------

#if defined(__AMX_BF16__)
inline bool has_tiles() {  // which a process must ask for
    static const bool found = syscall(SYS_arch_prctl, 0x1023, 18) == 0;
    return found;
}

// What was written lies in memory. GCC's operations on tiles do not say what they read: without this it may leave out or
// put off what only they would see.
inline void written(const void* what) { asm volatile("" ::"r"(what) : "memory"); }

inline void add_in_tiles(const bfloat16* rows, const bfloat16* weight, long n, long tiles, How how, Sums sums) {
    constexpr long wide = sizeof(float) * SIDE, line = sizeof(bfloat16) * SIDE, half = SIDE * SIDE / 2;
    const bfloat16* below = rows + tiles * TILE_OF_ROWS;
    written(rows);
    if (how.begins) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    } else {
        _tile_loadd(0, sums[0], wide);
        _tile_loadd(1, sums[0] + 16, wide);
        _tile_loadd(2, sums[16], wide);
        _tile_loadd(3, sums[16] + 16, wide);
    }
    if (n <= ROWS) {
        for (long tile = 0; tile < tiles; ++tile, rows += TILE_OF_ROWS, weight += SIDE * SIDE) {
            if (how.first) foresee(weight, sizeof(bfloat16) * SIDE * SIDE);
            _tile_loadd(4, rows, line);
            _tile_loadd(6, weight, line);
            _tile_loadd(7, weight + half, line);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
        }
    } else {
        for (long tile = 0; tile < tiles; ++tile, rows += TILE_OF_ROWS, below += TILE_OF_ROWS, weight += SIDE * SIDE) {
            if (how.first) foresee(weight, sizeof(bfloat16) * SIDE * SIDE);
            _tile_loadd(4, rows, line);
            _tile_loadd(6, weight, line);
            _tile_loadd(7, weight + half, line);
            _tile_loadd(5, below, line);
            _tile_dpbf16ps(0, 4, 6);
            _tile_dpbf16ps(1, 4, 7);
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
        _tile_stored(2, sums[16], wide);
        _tile_stored(3, sums[16] + 16, wide);
    }
    _tile_stored(0, sums[0], wide);
    _tile_stored(1, sums[0] + 16, wide);
}
#else
inline bool has_tiles() { return false; }
#endif

// --- either ------------------------------------------------------------------------------------

inline void add(const float* rows, const float* weight, long n, long tiles, How how, Sums sums) {
    add_in_vectors(rows, weight, n, tiles, how, sums);
}

inline void add(const bfloat16* rows, const bfloat16* weight, long n, long tiles, How how, Sums sums) {
#if defined(__AMX_BF16__)
    if (has_tiles()) return add_in_tiles(rows, weight, n, tiles, how, sums);
#endif
#if defined(__AVX512BF16__)
    add_in_vectors(rows, weight, n, tiles, how, sums);
#endif
}

// What a thread does before and after its products.
struct Multiplying {
    Multiplying() {
#if defined(__AMX_BF16__)
        if (!has_tiles()) return;
        alignas(64) struct { uint8_t palette = 1, start = 0, none[14] = {}; uint16_t bytes[16] = {}; uint8_t rows[16] = {}; } of;
        for (int i = 0; i < 8; ++i) of.bytes[i] = 64, of.rows[i] = 16;
        written(&of);
        _tile_loadconfig(&of);
#endif
    }
    ~Multiplying() {
#if defined(__AMX_BF16__)
        if (has_tiles()) _tile_release();
#endif
    }
};

// Writes 32 numbers of 32 rows of a weight as the kernel of their precision reads them.
inline void lay(const float (*square)[SIDE], float* to) {
    for (long column = 0; column < SIDE; ++column)
        for (long row = 0; row < SIDE; ++row) to[column * SIDE + row] = square[row][column];
}

inline void lay(const bfloat16 (*square)[SIDE], bfloat16* to) {  // two of a row side by side, 16 rows in a line
    for (long half = 0; half < SIDE; half += ROWS)
        for (long column = 0; column < SIDE; column += 2)
            for (long row = half; row < half + ROWS; ++row, to += 2) std::memcpy(to, &square[row][column], 4);
}

// Packs a weight [out, in], whose rows are `stride` apart and whose numbers are `step` apart, times `factor`; both sides
// are filled up with zeros to multiples of 32.
template <typename T> void pack(const T* weight, T* to, long out, long in, long stride, long step, float factor) {
    long blocks = (out + SIDE - 1) / SIDE, tiles = (in + SIDE - 1) / SIDE;
#pragma omp parallel for collapse(2) if (out * in > (1 << 14))
    for (long block = 0; block < blocks; ++block)
        for (long tile = 0; tile < tiles; ++tile) {
            T square[SIDE][SIDE] = {};
            long rows = std::min(SIDE, out - block * SIDE), columns = std::min(SIDE, in - tile * SIDE);
            for (long row = 0; row < rows; ++row) {
                const T* from = weight + (block * SIDE + row) * stride + tile * SIDE * step;
                if (step == 1) std::memcpy(square[row], from, columns * sizeof(T));
                else for (long column = 0; column < columns; ++column) square[row][column] = from[column * step];
                if (factor != 1.0f)
                    for (T& number : square[row]) number = narrow<T>(wide(number) * factor);
            }
            lay(square, to + (block * tiles + tile) * SIDE * SIDE);
        }
}

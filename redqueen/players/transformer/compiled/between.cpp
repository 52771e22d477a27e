// What is done between the products with weights: norms, rotations and gates with their gradients, and the attention of
// a row to its own keys, which has none. Each function is one pass over its numbers; between.py calls them.
//
// Numbers are float32 or bfloat16 and are computed with in float32. A row's result depends on no other row, and nothing
// on the number of threads.

#include "attention.h"
#include "numbers.h"

#include <type_traits>

#if defined(__AVX512BF16__)
#include <immintrin.h>
#endif

namespace {

constexpr long FEW = 1 << 14;  // numbers for which other threads are not worth their waking

// The root mean square of [n, m, width], whose rows are `stride` apart, made 1, and weighted by [width].
template <typename T>
void norm(const T* given, const T* weight, T* found, long n, long m, long width, long stride, float epsilon) {
#pragma omp parallel for collapse(2) if (n * m * width > FEW)
    for (long row = 0; row < n; ++row)
        for (long part = 0; part < m; ++part) {
            const T* __restrict from = given + row * stride + part * width;
            T* __restrict to = found + (row * m + part) * width;
            weigh(from, weight, to, width, shrinking(from, width, epsilon));
        }
}

// The gradient of `norm` from that of what it found, `slopes` [n, m, width], side by side. Where `of_weight` is not null
// it holds for every `chunk` of the n * m rows its share of the gradient of the weight.
template <typename T>
void norm_back(const T* given, const T* weight, const T* slopes, T* found, float* of_weight, long n, long m, long width,
               long stride, long chunk, float epsilon) {
    long rows = n * m;
#pragma omp parallel for if (rows * width > FEW)
    for (long first = 0; first < rows; first += chunk)
        for (long row = first; row < std::min(rows, first + chunk); ++row) {
            const T* __restrict from = given + row / m * stride + row % m * width;
            const T* __restrict slope = slopes + row * width;
            T* __restrict to = found + row * width;
            float shrink = shrinking(from, width, epsilon), along = 0.0f;
#pragma omp simd reduction(+ : along)
            for (long i = 0; i < width; ++i) along += wide(slope[i]) * wide(weight[i]) * wide(from[i]);
            along *= shrink * shrink / float(width);
            for (long i = 0; i < width; ++i)
                to[i] = narrow<T>(shrink * (wide(slope[i]) * wide(weight[i]) - along * wide(from[i])));
            if (!of_weight) continue;
            float* __restrict sums = of_weight + first / chunk * width;
            for (long i = 0; i < width; ++i) sums[i] += wide(slope[i]) * rounded<T>(wide(from[i]) * shrink);
        }
}

// Heads [n, m, width], whose two halves are the coordinates of points, turned by the angles of a row; the sines
// [n, width] are negative in their first half.
template <typename T>
void rotate(const T* given, const T* cosines, const T* sines, T* found, long n, long m, long width, long stride) {
#pragma omp parallel for if (n * m * width > FEW)
    for (long row = 0; row < n; ++row)
        for (long part = 0; part < m; ++part) {
            const T* from = given + row * stride + part * width;
            turn(from, cosines + row * width, sines + row * width, found + (row * m + part) * width, width);
        }
}

// silu(gate) * up, both [n, width], whose rows are `stride` apart.
template <typename T> void gate(const T* __restrict gates, const T* __restrict up, T* __restrict found, long n, long width, long stride) {
#pragma omp parallel for if (n * width > FEW)
    for (long row = 0; row < n; ++row)
        for (long i = 0; i < width; ++i)
            found[row * width + i] = opened<T>(wide(gates[row * stride + i]), wide(up[row * stride + i]));
}

// The gradients of `gate` from that of what it found, all [n, width] and side by side but for `gates` and `up`.
template <typename T>
void gate_back(const T* gates, const T* up, const T* slopes, T* of_gates, T* of_up, long n, long width, long stride) {
#pragma omp parallel for if (n * width > FEW)
    for (long row = 0; row < n; ++row)
        opened_back(gates + row * stride, up + row * stride, slopes + row * width, of_gates + row * width,
                    of_up + row * width, width);
}

constexpr int LANES = 16;       // numbers that are computed at once
constexpr int CHUNK = 4;        // of these, whose sums stay in registers
constexpr int LEAST = 8;        // numbers: heads are as wide as some of these
constexpr int STRIDE = 4;       // places whose scores are added up together
constexpr long AHEAD = 16;      // places
constexpr long LINE = 64;       // bytes that a processor reads at once
constexpr long TILE = 64;       // places whose shares are computed together
constexpr long WIDEST = 256;    // numbers of a key
constexpr long MOST_HEADS = 16; // query heads of a key head
constexpr int TOGETHER = 4;     // of these, that look at a key at once

typedef float Lanes __attribute__((vector_size(4 * LANES)));
typedef float Few __attribute__((vector_size(4 * STRIDE)));
typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));

// N numbers and zeros behind them.
template <int N> inline Lanes read(const float* from) {
    Lanes found = {};
    std::memcpy(&found, from, N * sizeof(float));
    return found;
}

template <int N> inline Lanes read(const bfloat16* from) {
    Halves halves = {};
    std::memcpy(&halves, from, N * sizeof(bfloat16));
    return Lanes(__builtin_convertvector(halves, Bits) << 16);
}

// Asks for numbers before they are read: the processor foresees one stream of reading and not two.
template <int N, typename T> inline void foresee(const T* from) {
    for (size_t at = 0; at < N * sizeof(T); at += LINE) __builtin_prefetch((const char*)from + at);
}

// The sums of sixteen vectors, in their order: halves are added until one number is left of each.
inline Lanes sums_of(Lanes (&of)[LANES]) {
    for (int i = 0; i < 8; ++i)
        of[i] = __builtin_shufflevector(of[2 * i], of[2 * i + 1], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23) +
                __builtin_shufflevector(of[2 * i], of[2 * i + 1], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31);
    for (int i = 0; i < 4; ++i)
        of[i] = __builtin_shufflevector(of[2 * i], of[2 * i + 1], 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27) +
                __builtin_shufflevector(of[2 * i], of[2 * i + 1], 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    for (int i = 0; i < 2; ++i)
        of[i] = __builtin_shufflevector(of[2 * i], of[2 * i + 1], 0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29) +
                __builtin_shufflevector(of[2 * i], of[2 * i + 1], 2, 3, 6, 7, 10, 11, 14, 15, 18, 19, 22, 23, 26, 27, 30, 31);
    return __builtin_shufflevector(of[0], of[1], 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30) +
           __builtin_shufflevector(of[0], of[1], 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
}

// What the queries of one row have found so far: with `most` the largest score, the sum of the shares and of the values.
struct Found {
    float most[MOST_HEADS], sums[MOST_HEADS], values[MOST_HEADS][WIDEST + LANES];
};

template <typename T> using Query = T[WIDEST + LANES];

// The products of V vectors of N numbers of H queries with those of a key.
template <typename T, int H, int V, int N> struct Products {
    Lanes asked[H][V];
    explicit Products(const Query<T>* query) {
        for (int head = 0; head < H; ++head)
            for (int i = 0; i < V; ++i) asked[head][i] = read<N>(query[head] + i * LANES);
    }
    void operator()(const T* key, Lanes* found) const {
        Lanes numbers[V];
        for (int i = 0; i < V; ++i) numbers[i] = read<N>(key + i * LANES);
        for (int head = 0; head < H; ++head) {
            Lanes sum = asked[head][0] * numbers[0];
            for (int i = 1; i < V; ++i) sum += asked[head][i] * numbers[i];
            found[head * STRIDE] = sum;
        }
    }
};

#if defined(__AVX512BF16__)  // two products of bfloat16 at once
template <int H, int V> struct Products<bfloat16, H, V, LANES> {
    static constexpr int PAIRS = (V + 1) / 2;
    __m512bh asked[H][PAIRS];
    static __m512bh pair(const bfloat16* from, int i) {
        if (2 * i + 1 < V) return (__m512bh)_mm512_loadu_si512(from + 2 * i * LANES);
        return (__m512bh)_mm512_zextsi256_si512(_mm256_loadu_si256((const __m256i*)(from + 2 * i * LANES)));
    }
    explicit Products(const Query<bfloat16>* query) {
        for (int head = 0; head < H; ++head)
            for (int i = 0; i < PAIRS; ++i) asked[head][i] = pair(query[head], i);
    }
    void operator()(const bfloat16* key, Lanes* found) const {
        __m512bh numbers[PAIRS];
        for (int i = 0; i < PAIRS; ++i) numbers[i] = pair(key, i);
        for (int head = 0; head < H; ++head) {
            __m512 sum = _mm512_setzero_ps();
            for (int i = 0; i < PAIRS; ++i) sum = _mm512_dpbf16_ps(sum, asked[head][i], numbers[i]);
            found[head * STRIDE] = (Lanes)sum;
        }
    }
};
#endif

// Adds the products of V vectors of N numbers of H queries with those of `count` keys to the scores; the values are read
// next.
template <typename T, int H, int V, int N>
void score(const Query<T>* query, const T* keys, const T* values, long count, long width, float (*scores)[TILE]) {
    const Products<T, H, V, N> products(query);
    for (long place = 0; place < count; place += STRIDE) {
        Lanes found[LANES];
        for (int i = H * STRIDE; i < LANES; ++i) found[i] = Lanes{};
#pragma GCC unroll 4
        for (int next = 0; next < STRIDE; ++next) {
            long at = std::min(place + next, count - 1);  // which is computed more than once at the end
            foresee<V * N>(keys + (at + AHEAD) * width);
            foresee<V * N>(values + at * width);
            products(keys + at * width, found + next);
        }
        Lanes sums = sums_of(found);
        for (int head = 0; head < H; ++head) {
            Few before, more;
            std::memcpy(&before, scores[head] + place, sizeof before);
            std::memcpy(&more, (const char*)&sums + head * sizeof more, sizeof more);
            before += more;
            std::memcpy(scores[head] + place, &before, sizeof before);
        }
    }
}

// Adds the shares of V vectors of N numbers of `count` values to what H queries found; the keys at `next` are read next.
template <typename T, int H, int V, int N>
void gather(const float (*shares)[TILE], const T* values, const T* next, long count, long width,
            float (*found)[WIDEST + LANES]) {
    Lanes sums[H][V];
    for (int head = 0; head < H; ++head)
        for (int i = 0; i < V; ++i) sums[head][i] = read<LANES>(found[head] + i * LANES);
    for (long place = 0; place < count; ++place) {
        foresee<V * N>(next + place * width);
        for (int i = 0; i < V; ++i) {
            Lanes value = read<N>(values + place * width + i * LANES);
            for (int head = 0; head < H; ++head) sums[head][i] += shares[head][place] * value;
        }
    }
    for (int head = 0; head < H; ++head)
        for (int i = 0; i < V; ++i) std::memcpy(found[head] + i * LANES, &sums[head][i], sizeof(Lanes));
}

// Runs for the parts of a head of `width` numbers, run(first number, vectors, numbers of a vector).
template <typename Run> inline void in_parts(long width, Run run) {
    long i = 0;
    for (; i + CHUNK * LANES <= width; i += CHUNK * LANES)
        run(i, std::integral_constant<int, CHUNK>(), std::integral_constant<int, LANES>());
    for (; i + LANES <= width; i += LANES) run(i, std::integral_constant<int, 1>(), std::integral_constant<int, LANES>());
    if (i < width) run(i, std::integral_constant<int, 1>(), std::integral_constant<int, LEAST>());
}

// Adds `count` places to what H queries found.
template <typename T, int H>
void look(const Query<T>* query, const T* keys, const T* values, const T* next, long count, long width, float scale,
          float* most, float* sums, float (*found)[WIDEST + LANES]) {
    float shares[H][TILE] = {};
    in_parts(width, [&](long i, auto vectors, auto numbers) {
        score<T, H, vectors(), numbers()>((const Query<T>*)(query[0] + i), keys + i, values + i, count, width, shares);
    });
    for (int head = 0; head < H; ++head) {
        float highest = most[head], total = 0.0f;
#pragma omp simd reduction(max : highest)
        for (long place = 0; place < count; ++place) {
            shares[head][place] *= scale;
            highest = std::max(highest, shares[head][place]);
        }
        float shrink = power(most[head] - highest);
#pragma omp simd reduction(+ : total)
        for (long place = 0; place < count; ++place) total += shares[head][place] = power(shares[head][place] - highest);
        most[head] = highest;
        sums[head] = sums[head] * shrink + total;
        for (long i = 0; i < width; ++i) found[head][i] *= shrink;
    }
    in_parts(width, [&](long i, auto vectors, auto numbers) {
        gather<T, H, vectors(), numbers()>(shares, values + i, next + i, count, width,
                                               (float(*)[WIDEST + LANES])(found[0] + i));
    });
}

// Adds the places from `start` to `end` of one row and key head; the keys at `following` are read after them.
template <typename T>
void look_at(const Query<T>* query, const T* keys, const T* values, const T* following, long start, long end, long heads,
             long width, float scale, Found& found) {
    for (long first = start; first < end; first += TILE) {
        long count = std::min(TILE, end - first);
        const T* next = first + count < end ? keys + (first + count) * width : following;
        for (long head = 0; head < heads; head += TOGETHER) {
            auto run = [&](auto together) {
                look<T, decltype(together)::value>(query + head, keys + first * width, values + first * width, next, count,
                                                   width, scale, found.most + head, found.sums + head,
                                                   found.values + head);
            };
            switch (std::min<long>(TOGETHER, heads - head)) {
                case 1: run(std::integral_constant<int, 1>()); break;
                case 2: run(std::integral_constant<int, 2>()); break;
                case 3: run(std::integral_constant<int, 3>()); break;
                default: run(std::integral_constant<int, TOGETHER>());
            }
        }
    }
}

// The attention of n rows, each to keys and values of its own, [n, key heads, room, width], after writing those of its
// newest token at place `length - 1`. A row looks at its first `lengths[row]` places, of which there are `start` for
// all rows, and at those from `start` to `length`; with a window, at the last `window` of them. Where there are paths,
// [groups, key heads, size, width], `start` is 0 and the first places are those of the path of its group.
template <typename T>
void attend(const T* query, const T* key, const T* value, T* keys, T* values, const T* path_keys, const T* path_values,
            const int64_t* groups, const int64_t* lengths, T* answer, float* sums, long n, long key_heads, long heads,
            long width, long room, long size, long start, long length, long window, long key_stride, long value_stride,
            float scale) {
#pragma omp parallel for collapse(2) if (n * key_heads * (length + size) * width > FEW)
    for (long part = 0; part < key_heads; ++part)  // rows of one group one after the other: their path is read once
        for (long row = 0; row < n; ++row) {
            long place = row * key_heads + part;
            T* own_keys = keys + place * room * width;
            T* own_values = values + place * room * width;
            std::memcpy(own_keys + (length - 1) * width, key + row * key_stride + part * width, width * sizeof(T));
            std::memcpy(own_values + (length - 1) * width, value + row * value_stride + part * width, width * sizeof(T));
            Query<T> asked[MOST_HEADS];
            Found found;
            for (long head = 0; head < heads; ++head) {
                found.most[head] = -1e30f;
                found.sums[head] = 0.0f;
                std::memcpy(asked[head], query + (place * heads + head) * width, width * sizeof(T));
                for (long i = 0; i < width + LANES; ++i) found.values[head][i] = 0.0f;
            }
            long before = lengths[row], oldest = window ? std::max(0L, before + length - start - window) : 0;
            long since = start + std::max(0L, oldest - before);
            auto look_from = [&](const T* from_keys, const T* from_values, const T* following, long first, long last) {
                look_at(asked, from_keys, from_values, following, first, last, heads, width, scale, found);
            };
            long path = path_keys ? (groups[row] * key_heads + part) * size * width : 0;
            const T* own = own_keys + since * width;
            if (path_keys) look_from(path_keys + path, path_values + path, own, oldest, before);
            else look_from(own_keys, own_values, own, oldest, std::min(before, start));
            look_from(own_keys, own_values, own_keys + key_heads * room * width, since, length);
            for (long head = 0; head < heads; ++head) {
                sums[place * heads + head] = found.most[head] + std::log(found.sums[head]);
                for (long i = 0; i < width; ++i)
                    answer[(place * heads + head) * width + i] = narrow<T>(found.values[head][i] / found.sums[head]);
            }
        }
}

}  // namespace

#define FOR_BOTH(T, NAME)                                                                                             \
    extern "C" void norm_##NAME(const T* given, const T* weight, T* found, long n, long m, long width, long stride,   \
                                float epsilon) {                                                                      \
        norm(given, weight, found, n, m, width, stride, epsilon);                                                     \
    }                                                                                                                 \
    extern "C" void norm_back_##NAME(const T* given, const T* weight, const T* slopes, T* found, float* of_weight,    \
                                     long n, long m, long width, long stride, long chunk, float epsilon) {            \
        norm_back(given, weight, slopes, found, of_weight, n, m, width, stride, chunk, epsilon);                      \
    }                                                                                                                 \
    extern "C" void rotate_##NAME(const T* given, const T* cosines, const T* sines, T* found, long n, long m,         \
                                  long width, long stride) {                                                          \
        rotate(given, cosines, sines, found, n, m, width, stride);                                                    \
    }                                                                                                                 \
    extern "C" void gate_##NAME(const T* gates, const T* up, T* found, long n, long width, long stride) {             \
        gate(gates, up, found, n, width, stride);                                                                     \
    }                                                                                                                 \
    extern "C" void gate_back_##NAME(const T* gates, const T* up, const T* slopes, T* of_gates, T* of_up, long n,     \
                                     long width, long stride) {                                                       \
        gate_back(gates, up, slopes, of_gates, of_up, n, width, stride);                                              \
    }                                                                                                                 \
    ATTENTION(T, attend_##NAME) {                                                                                     \
        attend(query, key, value, keys, values, path_keys, path_values, groups, lengths, answer, sums, n, key_heads,  \
               heads, width, room, size, start, length, window, key_stride, value_stride, scale);                     \
    }

FOR_BOTH(float, float32)
FOR_BOTH(bfloat16, bfloat16)

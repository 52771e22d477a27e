// What a decoding step does between its products with weights, without gradients: norms, rotations, gates, and the
// attention of a row to its own keys. Each function is one pass over its numbers; between.py calls them.
//
// Numbers are float32 or bfloat16 and are computed with in float32. A row's result depends on no other row, and on no
// number of threads.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace {

struct bfloat16 {
    uint16_t bits;
};

inline float wide(float number) { return number; }

inline float wide(bfloat16 number) {
    uint32_t bits = uint32_t(number.bits) << 16;
    float found;
    std::memcpy(&found, &bits, sizeof found);
    return found;
}

template <typename T> inline T narrow(float number);

template <> inline float narrow<float>(float number) { return number; }

template <> inline bfloat16 narrow<bfloat16>(float number) {  // to the nearest, ties to even
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return {uint16_t((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16)};
}

// e to the power of a number, to 2 units in the last place: libm's cannot be computed for many numbers at once.
inline float power(float number) {
    number = std::min(std::max(number, -87.0f), 88.0f);
    float whole = std::floor(number * 1.44269504f + 0.5f);
    float rest = std::fma(whole, 2.12194440e-4f, std::fma(whole, -0.693359375f, number));
    float found = 1.98756915e-4f;
    found = found * rest + 1.39819995e-3f;
    found = found * rest + 8.33345190e-3f;
    found = found * rest + 4.16657960e-2f;
    found = found * rest + 1.66666655e-1f;
    found = found * rest + 5.00000012e-1f;
    found = found * rest * rest + rest + 1.0f;
    int32_t bits = (int32_t(whole) + 127) << 23;
    float scale;
    std::memcpy(&scale, &bits, sizeof scale);
    return found * scale;
}

constexpr long FEW = 1 << 14;  // numbers for which other threads are not worth their waking

// The root mean square of [n, m, width], whose rows are `stride` apart, made 1, and weighted by [width].
template <typename T>
void norm(const T* given, const T* weight, T* found, long n, long m, long width, long stride, float epsilon) {
#pragma omp parallel for collapse(2) if (n * m * width > FEW)
    for (long row = 0; row < n; ++row)
        for (long part = 0; part < m; ++part) {
            const T* __restrict from = given + row * stride + part * width;
            T* __restrict to = found + (row * m + part) * width;
            float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
            for (long i = 0; i < width; ++i) sum += wide(from[i]) * wide(from[i]);
            float shrink = 1.0f / std::sqrt(sum / float(width) + epsilon);
            for (long i = 0; i < width; ++i)
                to[i] = narrow<T>(wide(narrow<T>(wide(from[i]) * shrink)) * wide(weight[i]));
        }
}

// Heads [n, m, width], whose two halves are the coordinates of points, turned by the angles of a row; the sines
// [n, width] are negative in their first half.
template <typename T>
void rotate(const T* given, const T* cosines, const T* sines, T* found, long n, long m, long width, long stride) {
    long half = width / 2;
#pragma omp parallel for if (n * m * width > FEW)
    for (long row = 0; row < n; ++row)
        for (long part = 0; part < m; ++part) {
            const T* __restrict from = given + row * stride + part * width;
            T* __restrict to = found + (row * m + part) * width;
            const T* __restrict cosine = cosines + row * width;
            const T* __restrict sine = sines + row * width;
            for (long i = 0; i < half; ++i)
                to[i] = narrow<T>(wide(narrow<T>(wide(from[i]) * wide(cosine[i]))) + wide(from[i + half]) * wide(sine[i]));
            for (long i = half; i < width; ++i)
                to[i] = narrow<T>(wide(narrow<T>(wide(from[i]) * wide(cosine[i]))) + wide(from[i - half]) * wide(sine[i]));
        }
}

// silu(gate) * up, both [n, width], whose rows are `stride` apart.
template <typename T> void gate(const T* __restrict gates, const T* __restrict up, T* __restrict found, long n, long width, long stride) {
#pragma omp parallel for if (n * width > FEW)
    for (long row = 0; row < n; ++row)
        for (long i = 0; i < width; ++i) {
            float asked = wide(gates[row * stride + i]);
            float open = wide(narrow<T>(asked / (1.0f + power(-asked))));
            found[row * width + i] = narrow<T>(open * wide(up[row * stride + i]));
        }
}

constexpr int LANES = 8;        // numbers that are computed at once; heads are as wide as some of these
constexpr int CHUNK = 8;        // of these, whose sums stay in registers
constexpr long AHEAD = 16;      // places
constexpr long LINE = 64;       // bytes that a processor reads at once
constexpr long TILE = 128;      // places whose shares are computed together
constexpr long WIDEST = 256;    // numbers of a key
constexpr long MOST_HEADS = 16; // query heads of a key head
constexpr int TOGETHER = 4;     // of these, that look at a key at once

typedef float Lanes __attribute__((vector_size(4 * LANES)));
typedef uint32_t Bits __attribute__((vector_size(4 * LANES)));
typedef uint16_t Halves __attribute__((vector_size(2 * LANES)));
typedef float Half __attribute__((vector_size(2 * LANES)));

inline Lanes read(const float* from) {
    Lanes found;
    std::memcpy(&found, from, sizeof found);
    return found;
}

inline Lanes read(const bfloat16* from) {
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    return Lanes(__builtin_convertvector(halves, Bits) << 16);
}

inline float sum(Lanes lanes) {
    Half halves = __builtin_shufflevector(lanes, lanes, 0, 1, 2, 3) + __builtin_shufflevector(lanes, lanes, 4, 5, 6, 7);
    halves += __builtin_shufflevector(halves, halves, 2, 3, 0, 1);
    return halves[0] + halves[1];
}

// Asks for V vectors of numbers before they are read: the processor foresees one stream of reading and not two.
template <int V, typename T> inline void foresee(const T* from) {
    for (size_t at = 0; at < V * LANES * sizeof(T); at += LINE) __builtin_prefetch((const char*)from + at);
}

// What the queries of one row have found so far: with `most` the largest score, the sum of the shares and of the values.
struct Found {
    float most[MOST_HEADS], sums[MOST_HEADS], values[MOST_HEADS][WIDEST];
};

// Adds the products of V vectors of H queries with those of `count` keys to the scores; the values are read next.
template <typename T, int H, int V>
void score(const float (*query)[WIDEST], const T* keys, const T* values, long count, long width, float (*scores)[TILE]) {
    Lanes asked[H][V];
    for (int head = 0; head < H; ++head)
        for (int i = 0; i < V; ++i) asked[head][i] = read(query[head] + i * LANES);
    for (long place = 0; place < count; ++place) {
        foresee<V>(keys + (place + AHEAD) * width);
        foresee<V>(values + place * width);
        Lanes key[V];
        for (int i = 0; i < V; ++i) key[i] = read(keys + place * width + i * LANES);
        for (int head = 0; head < H; ++head) {
            Lanes found = asked[head][0] * key[0];
            for (int i = 1; i < V; ++i) found += asked[head][i] * key[i];
            scores[head][place] += sum(found);
        }
    }
}

// Adds the shares of V vectors of `count` values to what H queries found.
template <typename T, int H, int V>
void gather(const float (*shares)[TILE], const T* values, long count, long width, float (*found)[WIDEST]) {
    Lanes sums[H][V];
    for (int head = 0; head < H; ++head)
        for (int i = 0; i < V; ++i) sums[head][i] = read(found[head] + i * LANES);
    for (long place = 0; place < count; ++place)
        for (int i = 0; i < V; ++i) {
            Lanes value = read(values + place * width + i * LANES);
            for (int head = 0; head < H; ++head) sums[head][i] += shares[head][place] * value;
        }
    for (int head = 0; head < H; ++head)
        for (int i = 0; i < V; ++i) std::memcpy(found[head] + i * LANES, &sums[head][i], sizeof(Lanes));
}

// Adds `count` places to what H queries found.
template <typename T, int H>
void look(const float (*query)[WIDEST], const T* keys, const T* values, long count, long width, float* most,
          float* sums, float (*found)[WIDEST]) {
    float shares[H][TILE] = {};
    long i = 0;
    for (; i + CHUNK * LANES <= width; i += CHUNK * LANES)
        score<T, H, CHUNK>((const float(*)[WIDEST])(query[0] + i), keys + i, values + i, count, width, shares);
    for (; i < width; i += LANES)
        score<T, H, 1>((const float(*)[WIDEST])(query[0] + i), keys + i, values + i, count, width, shares);
    for (int head = 0; head < H; ++head) {
        float highest = most[head], total = 0.0f;
#pragma omp simd reduction(max : highest)
        for (long place = 0; place < count; ++place) highest = std::max(highest, shares[head][place]);
        float shrink = power(most[head] - highest);
#pragma omp simd reduction(+ : total)
        for (long place = 0; place < count; ++place) total += shares[head][place] = power(shares[head][place] - highest);
        most[head] = highest;
        sums[head] = sums[head] * shrink + total;
        for (long i = 0; i < width; ++i) found[head][i] *= shrink;
    }
    i = 0;
    for (; i + CHUNK * LANES <= width; i += CHUNK * LANES)
        gather<T, H, CHUNK>(shares, values + i, count, width, (float(*)[WIDEST])(found[0] + i));
    for (; i < width; i += LANES) gather<T, H, 1>(shares, values + i, count, width, (float(*)[WIDEST])(found[0] + i));
}

// Adds the places from `start` to `end` of one row and key head.
template <typename T>
void look_at(const float (*query)[WIDEST], const T* keys, const T* values, long start, long end, long heads, long width,
             Found& found) {
    for (long first = start; first < end; first += TILE) {
        long count = std::min(TILE, end - first);
        for (long head = 0; head < heads; head += TOGETHER) {
            auto run = [&](auto together) {
                look<T, decltype(together)::value>(query + head, keys + first * width, values + first * width, count,
                                                   width, found.most + head, found.sums + head, found.values + head);
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
// all rows, and at those from `start` to `length`; with a window, at the last `window` of them.
template <typename T>
void attend(const T* query, const T* key, const T* value, T* keys, T* values, const int64_t* lengths, T* answer,
            float* sums, long n, long key_heads, long heads, long width, long room, long start, long length,
            long window, long key_stride, long value_stride, float scale) {
#pragma omp parallel for collapse(2) if (n * key_heads * length * width > FEW)
    for (long row = 0; row < n; ++row)
        for (long part = 0; part < key_heads; ++part) {
            long place = row * key_heads + part;
            T* own_keys = keys + place * room * width;
            T* own_values = values + place * room * width;
            std::memcpy(own_keys + (length - 1) * width, key + row * key_stride + part * width, width * sizeof(T));
            std::memcpy(own_values + (length - 1) * width, value + row * value_stride + part * width, width * sizeof(T));
            float asked[MOST_HEADS][WIDEST];
            Found found;
            for (long head = 0; head < heads; ++head) {
                found.most[head] = -1e30f;
                found.sums[head] = 0.0f;
                for (long i = 0; i < width; ++i) {
                    asked[head][i] = wide(query[(place * heads + head) * width + i]) * scale;
                    found.values[head][i] = 0.0f;
                }
            }
            long before = lengths[row], oldest = window ? std::max(0L, before + length - start - window) : 0;
            look_at(asked, own_keys, own_values, oldest, std::min(before, start), heads, width, found);
            look_at(asked, own_keys, own_values, start + std::max(0L, oldest - before), length, heads, width, found);
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
    extern "C" void rotate_##NAME(const T* given, const T* cosines, const T* sines, T* found, long n, long m,         \
                                  long width, long stride) {                                                          \
        rotate(given, cosines, sines, found, n, m, width, stride);                                                    \
    }                                                                                                                 \
    extern "C" void gate_##NAME(const T* gates, const T* up, T* found, long n, long width, long stride) {             \
        gate(gates, up, found, n, width, stride);                                                                     \
    }                                                                                                                 \
    extern "C" void attend_##NAME(const T* query, const T* key, const T* value, T* keys, T* values,                   \
                                  const int64_t* lengths, T* answer, float* sums, long n, long key_heads, long heads, \
                                  long width, long room, long start, long length, long window, long key_stride,       \
                                  long value_stride, float scale) {                                                   \
        attend(query, key, value, keys, values, lengths, answer, sums, n, key_heads, heads, width, room, start,       \
               length, window, key_stride, value_stride, scale);                                                      \
    }

FOR_BOTH(float, float32)
FOR_BOTH(bfloat16, bfloat16)

// Numbers of float32 and bfloat16, which are computed with in float32, and what is done to one row of them.

#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

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

template <typename T> inline float rounded(float number) { return wide(narrow<T>(number)); }

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

// silu(asked) * up
template <typename T> inline T opened(float asked, float up) {
    return narrow<T>(rounded<T>(asked / (1.0f + power(-asked))) * up);
}

// The gradients of a row of what is `opened`, from those of what was found.
template <typename T>
inline void opened_back(const T* __restrict asked, const T* __restrict up, const T* __restrict slopes,
                        T* __restrict of_asked, T* __restrict of_up, long width) {
    for (long i = 0; i < width; ++i) {
        float gate = wide(asked[i]), slope = wide(slopes[i]), share = 1.0f / (1.0f + power(-gate));
        of_up[i] = narrow<T>(slope * rounded<T>(gate * share));
        of_asked[i] = narrow<T>(slope * wide(up[i]) * share * (1.0f + gate * (1.0f - share)));
    }
}

// What a row is multiplied with to make its root mean square 1.
template <typename T> inline float shrinking(const T* row, long width, float epsilon) {
    float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
    for (long i = 0; i < width; ++i) sum += wide(row[i]) * wide(row[i]);
    return 1.0f / std::sqrt(sum / float(width) + epsilon);
}

// Numbers of a row that is shrunk, weighted.
template <typename T>
inline void weigh(const T* __restrict from, const T* __restrict weight, T* __restrict to, long width, float shrink) {
    for (long i = 0; i < width; ++i) to[i] = narrow<T>(rounded<T>(wide(from[i]) * shrink) * wide(weight[i]));
}

// The two halves of a head are the coordinates of points, turned by angles; the sines are negative in their first half.
template <typename T>
inline void turn(const T* __restrict from, const T* __restrict cosine, const T* __restrict sine, T* __restrict to,
                 long width) {
    long half = width / 2;
    for (long i = 0; i < half; ++i)
        to[i] = narrow<T>(rounded<T>(wide(from[i]) * wide(cosine[i])) + wide(from[i + half]) * wide(sine[i]));
    for (long i = half; i < width; ++i)
        to[i] = narrow<T>(rounded<T>(wide(from[i]) * wide(cosine[i])) + wide(from[i - half]) * wide(sine[i]));
}

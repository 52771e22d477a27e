// The attention of rows to their own keys, which between.cpp describes and computes.

#pragma once

#include "numbers.h"

#define ATTENTION(T, NAME)                                                                                            \
    extern "C" void NAME(const T* query, const T* key, const T* value, T* keys, T* values, const T* path_keys,        \
                         const T* path_values, const int64_t* groups, const int64_t* lengths, T* answer, float* sums, \
                         long n, long key_heads, long heads, long width, long room, long size, long start,            \
                         long length, long window, long key_stride, long value_stride, float scale)

ATTENTION(float, attend_float32);
ATTENTION(bfloat16, attend_bfloat16);

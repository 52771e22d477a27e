// A decoding step, and what it does between the attentions of two layers: products with packed weights, norms, gates,
// rotations. steps.py calls it.
//
// A row's result depends on no other row, and on no number of threads.

#include "attention.h"
#include "tiles.h"

#include <cstdlib>

namespace {

// A linear module, packed: [out, in]; with an adapter also [rank, in] and [out, rank], which holds its factor.
template <typename T> struct Linear {
    const T *weight, *bias, *down, *up;
    long out, in, rank;
};

template <typename T> struct Layer {
    const T *before, *after, *of_queries, *of_keys;  // the norms; the last two may be missing
    Linear<T> query, key, value, output, gate, up, shrink;
    long width, window;  // of a head; 0 where it looks at all places
    float before_epsilon, after_epsilon, queries_epsilon, keys_epsilon, scale;
};

template <typename T> struct Cache {  // of a layer
    T *keys, *values;
    const T *path_keys, *path_values;
};

template <typename T> struct Room {  // numbers that a thread keeps from step to step
    T* numbers = nullptr;
    long size = 0;
    T* of(long wanted) {
        if (wanted > size) {
            std::free(numbers);
            numbers = (T*)std::aligned_alloc(64, (wanted * sizeof(T) + 63) / 64 * 64);
            std::memset((void*)numbers, 0, wanted * sizeof(T));
            size = wanted;
        }
        return numbers;
    }
    ~Room() { std::free(numbers); }
};

struct Share {
    long from, to;
    explicit Share(long count) {
        long thread = omp_get_thread_num(), threads = omp_get_num_threads();
        from = count * thread / threads;
        to = count * (thread + 1) / threads;
    }
};

// The sums of some rows with a block of a module. `lowered` is what the adapter's first product gives.
template <typename T>
void sum(const Linear<T>& linear, const T* given, const T* lowered, long block, long row, long rows, Sums sums) {
    const T* weight = linear.weight + block * SIDE * linear.in;
    add(given + row * linear.in, weight, rows, linear.in / SIDE, {row == 0, true}, sums);
    if (!linear.rank) return;
    const T* up = linear.up + block * SIDE * linear.rank;
    add(lowered + row * linear.rank, up, rows, linear.rank / SIDE, {row == 0, false}, sums);
}

// Every block of a module with every row: done(first row, rows, first column, sums).
template <typename T, typename Done>
void each_block(const Linear<T>& linear, const T* given, const T* lowered, long n, Done done) {
    Share share(linear.out / SIDE);
    alignas(64) Sums sums;
    for (long start = share.from; start < share.to; start += GROUP)
        for (long row = 0; row < n; row += PASS)
            for (long block = start; block < std::min(start + GROUP, share.to); ++block) {
                long rows = std::min(PASS, n - row);
                sum(linear, given, lowered, block, row, rows, sums);
                done(row, rows, block * SIDE, sums);
            }
}

template <typename T> inline float biased(const Linear<T>& linear, long column, float sum) {
    return linear.bias ? rounded<T>(sum) + wide(linear.bias[column]) : sum;
}

// The adapter's first product, as rows in tiles; all threads wait for it.
template <typename T> void lower(const Linear<T>& linear, const T* given, T* found, long n) {
    Linear<T> down = {linear.down, nullptr, nullptr, nullptr, linear.rank, linear.in, 0};
    each_block(down, given, (const T*)nullptr, n, [&](long first, long rows, long column, Sums sums) {
        for (long row = 0; row < rows; ++row)
            for (long i = 0; i < SIDE; ++i) found[tiled(first + row, column + i, linear.rank)] = narrow<T>(sums[row][i]);
    });
}

// Writes what a module gives, [n, out].
template <typename T> void write(const Linear<T>& linear, const T* given, const T* lowered, T* found, long n) {
    each_block(linear, given, lowered, n, [&](long first, long rows, long column, Sums sums) {
        for (long row = 0; row < rows; ++row)
            for (long i = 0; i < SIDE; ++i)
                found[(first + row) * linear.out + column + i] = narrow<T>(biased(linear, column + i, sums[row][i]));
    });
}

// Adds it to the states.
template <typename T> void add_to(T* states, const Linear<T>& linear, const T* given, const T* lowered, long n) {
    each_block(linear, given, lowered, n, [&](long first, long rows, long column, Sums sums) {
        for (long row = 0; row < rows; ++row) {
            T* state = states + (first + row) * linear.out + column;
            for (long i = 0; i < SIDE; ++i)
                state[i] = narrow<T>(wide(state[i]) + rounded<T>(biased(linear, column + i, sums[row][i])));
        }
    });
}

// silu(gate) * up, as rows in tiles.
template <typename T>
void open(const Layer<T>& layer, const T* given, const T* lowered_gate, const T* lowered_up, T* found, long n) {
    const Linear<T>&gate = layer.gate, &up = layer.up;
    Share share(gate.out / SIDE);
    alignas(64) Sums asked, offered;
    for (long start = share.from; start < share.to; start += GROUP)
        for (long row = 0; row < n; row += PASS)
            for (long block = start; block < std::min(start + GROUP, share.to); ++block) {
                long rows = std::min(PASS, n - row);
                sum(gate, given, lowered_gate, block, row, rows, asked);
                sum(up, given, lowered_up, block, row, rows, offered);
                for (long r = 0; r < rows; ++r) {
                    T* to = found + tiled(row + r, block * SIDE, gate.out);
                    for (long i = 0; i < SIDE; ++i) {
                        long column = block * SIDE + i;
                        to[i] = opened<T>(rounded<T>(biased(gate, column, asked[r][i])),
                                          rounded<T>(biased(up, column, offered[r][i])));
                    }
                }
            }
}

// Rows [n, width], `stride` apart, into tiles; the last are filled up with zeros where `width` is no multiple of 32.
template <typename T> void cut(const T* given, T* found, long n, long width, long stride) {
    long whole = (width + SIDE - 1) / SIDE * SIDE;
    Share share(n);
    for (long row = share.from; row < share.to; ++row)
        for (long column = 0; column < whole; column += SIDE) {
            T* to = found + tiled(row, column, whole);
            long count = std::min(SIDE, width - column);
            std::memcpy(to, given + row * stride + column, count * sizeof(T));
            for (long i = count; i < SIDE; ++i) to[i] = narrow<T>(0.0f);
        }
}

template <typename T> void norm(const T* states, const T* weight, float epsilon, T* found, long n, long width) {
    Share share(n);
    for (long row = share.from; row < share.to; ++row) {
        const T* state = states + row * width;
        float shrink = shrinking(state, width, epsilon);
        for (long column = 0; column < width; column += SIDE)
            weigh(state + column, weight + column, found + tiled(row, column, width), SIDE, shrink);
    }
}

// Turns heads [n, heads, width], which are normed before where a norm is given.
template <typename T>
void turn_heads(const T* given, const T* weight, float epsilon, const T* cosines, const T* sines, T* found, long n,
                long heads, long width) {
    Share share(n * heads);
    alignas(64) T normed[width];
    for (long head = share.from; head < share.to; ++head) {
        const T* from = given + head * width;
        if (weight) {
            weigh(from, weight, normed, width, shrinking(from, width, epsilon));
            from = normed;
        }
        turn(from, cosines + head / heads * width, sines + head / heads * width, found + head * width, width);
    }
}

// From what a layer's attention found, [n, heads * width], to the states after it; then to the queries, keys and values
// of the next. Either layer may be missing.
template <typename T>
void cross(const Layer<T>* leaving, const Layer<T>* entering, const T* attended, const T* cosines, const T* sines,
           T* states, T* query, T* key, T* value, long n) {
    static thread_local Room<T> room;
    const Layer<T>& some = leaving ? *leaving : *entering;
    long hidden = some.query.in, inner = some.gate.out, heads = some.query.out, rows = whole_rows(n), rank = 0;
    for (const Layer<T>* layer : {leaving, entering})
        if (layer)
            for (const Linear<T>* each : {&layer->query, &layer->key, &layer->value, &layer->output, &layer->gate,
                                          &layer->up, &layer->shrink})
                rank = std::max(rank, each->rank);
    T* given = room.of(rows * (std::max(hidden, heads) + inner + 2 * heads + 3 * rank));
    T* inside = given + rows * std::max(hidden, heads);
    T *queries = inside + rows * inner, *keys = queries + rows * heads, *lowered = keys + rows * heads;
    T* of[3] = {lowered, lowered + rows * rank, lowered + 2 * rows * rank};
#pragma omp parallel
    {
        Multiplying multiplying;
        auto lower_all = [&](std::initializer_list<const Linear<T>*> linears, const T* from) {
            long number = 0, some = 0;
            for (const Linear<T>* linear : linears) {
                if (linear->rank) lower(*linear, from, of[number], n), some = 1;
                ++number;
            }
            if (some) {
#pragma omp barrier
            }
        };
        if (leaving) {
            const Layer<T>& layer = *leaving;
            cut(attended, given, n, heads, heads);
#pragma omp barrier
            lower_all({&layer.output}, given);
            add_to(states, layer.output, given, of[0], n);
#pragma omp barrier
            norm(states, layer.after, layer.after_epsilon, given, n, hidden);
#pragma omp barrier
            lower_all({&layer.gate, &layer.up}, given);
            open(layer, given, of[0], of[1], inside, n);
#pragma omp barrier
            lower_all({&layer.shrink}, inside);
            add_to(states, layer.shrink, inside, of[0], n);
#pragma omp barrier
        }
        if (entering) {
            const Layer<T>& layer = *entering;
            norm(states, layer.before, layer.before_epsilon, given, n, hidden);
#pragma omp barrier
            lower_all({&layer.query, &layer.key, &layer.value}, given);
            write(layer.query, given, of[0], queries, n);
            write(layer.key, given, of[1], keys, n);
            write(layer.value, given, of[2], value, n);
#pragma omp barrier
            long width = layer.width;
            turn_heads(queries, layer.of_queries, layer.queries_epsilon, cosines, sines, query, n, heads / width, width);
            turn_heads(keys, layer.of_keys, layer.keys_epsilon, cosines, sines, key, n, layer.key.out / width, width);
        }
    }
}

template <typename... Given> inline void attend(const float* query, Given... given) { attend_float32(query, given...); }

template <typename... Given> inline void attend(const bfloat16* query, Given... given) {
    attend_bfloat16(query, given...);
}

// A whole step: n rows' states [n, hidden], after all layers. See `attend` for where keys and values are.
template <typename T>
void step(const Layer<T>* layers, const Cache<T>* caches, const T* cosines, const T* sines, const int64_t* groups,
          const int64_t* lengths, T* states, long count, long n, long room, long size, long start, long length) {
    static thread_local Room<T> of;
    static thread_local Room<float> of_sums;
    long heads = layers->query.out, kept = layers->key.out, width = layers->width;
    T *query = of.of(n * 2 * (heads + kept)), *attended = query + n * heads, *key = attended + n * heads;
    T* value = key + n * kept;
    float* sums = of_sums.of(n * heads / width);
    for (long number = 0; number < count; ++number) {
        const Layer<T>& layer = layers[number];
        const Cache<T>& cache = caches[number];
        cross(number ? &layers[number - 1] : nullptr, &layer, attended, cosines, sines, states, query, key, value, n);
        attend(query, key, value, cache.keys, cache.values, cache.path_keys, cache.path_values, groups, lengths, attended,
               sums, n, kept / width, heads / kept, width, room, size, start, length, layer.window, kept, kept, layer.scale);
    }
    const Layer<T>* none = nullptr;
    cross(&layers[count - 1], none, attended, cosines, sines, states, query, key, value, n);
}

// [n, out] from rows [n, in], `stride` apart, and a packed weight.
template <typename T> void product(const T* given, const T* weight, T* found, long n, long out, long in, long stride) {
    static thread_local Room<T> room;
    long whole = (in + SIDE - 1) / SIDE * SIDE, blocks = (out + SIDE - 1) / SIDE;
    T* rows = room.of(whole_rows(n) * whole);
    Linear<T> linear = {weight, nullptr, nullptr, nullptr, blocks * SIDE, whole, 0};
#pragma omp parallel
    {
        Multiplying multiplying;
        cut(given, rows, n, in, stride);
#pragma omp barrier
        each_block(linear, rows, (const T*)nullptr, n, [&](long first, long count, long column, Sums sums) {
            for (long row = 0; row < count; ++row)
                for (long i = 0; i < std::min(SIDE, out - column); ++i)
                    found[(first + row) * out + column + i] = narrow<T>(sums[row][i]);
        });
    }
}

}  // namespace

// Whether products of bfloat16 are made by the processor's own operations.
extern "C" long has_bfloat16() {
#if defined(__AVX512BF16__)
    return 1;
#else
    return has_tiles();
#endif
}

#define FOR_BOTH(T, NAME)                                                                                             \
    extern "C" void pack_##NAME(const T* weight, T* to, long out, long in, long stride, long step, float factor) {    \
        pack(weight, to, out, in, stride, step, factor);                                                              \
    }                                                                                                                 \
    extern "C" void product_##NAME(const T* given, const T* weight, T* found, long n, long out, long in, long stride) { \
        product(given, weight, found, n, out, in, stride);                                                            \
    }                                                                                                                 \
    extern "C" void step_##NAME(const void* layers, const void* caches, const T* cosines, const T* sines,             \
                                const int64_t* groups, const int64_t* lengths, T* states, long count, long n,         \
                                long room, long size, long start, long length) {                                      \
        step((const Layer<T>*)layers, (const Cache<T>*)caches, cosines, sines, groups, lengths, states, count, n,     \
             room, size, start, length);                                                                              \
    }                                                                                                                 \
    extern "C" void cross_##NAME(const void* leaving, const void* entering, const T* attended, const T* cosines,      \
                                 const T* sines, T* states, T* query, T* key, T* value, long n) {                     \
        cross((const Layer<T>*)leaving, (const Layer<T>*)entering, attended, cosines, sines, states, query, key,      \
              value, n);                                                                                              \
    }

FOR_BOTH(float, float32)
FOR_BOTH(bfloat16, bfloat16)

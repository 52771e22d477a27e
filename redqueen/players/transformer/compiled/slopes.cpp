// The gradient of attention in bfloat16, by the processor's tiles: of blocks of queries, each with keys of its own.
//
//     P = exp(scale Q K' - sums) where a query looks, else 0      dV = P' dA
//     dS = scale P (dA V' - the sum of dA A)                      dQ = dS K       dK = dS' Q
//
// P' and dS' are computed, keys by queries: so they are the rows of the products that follow as they stand, and the
// numbers of a query lie in one place of every vector. slopes.py calls it.

#include "tiles.h"

#include <vector>

#if defined(__AMX_BF16__)
namespace {

constexpr long SQUARE = SIDE * SIDE;
constexpr long KEYS = 256;  // that are looked at together, so that what is kept of them stays in the cache

// Rows [n, width], whose rows are `stride` apart and whose numbers are `step` apart, in tiles of rows; both sides are
// filled up with zeros to multiples of 32.
void lay_rows(const bfloat16* from, bfloat16* to, long n, long width, long stride, long step) {
    long across = whole_rows(width);
    for (long row = 0; row < whole_rows(n); ++row)
        for (long column = 0; column < across; column += SIDE) {
            bfloat16* at = to + tiled(row, column, across);
            long count = row < n ? std::min(SIDE, width - column) : 0;
            const bfloat16* numbers = from + row * stride + column * step;
            for (long i = 0; i < count; ++i) at[i] = numbers[i * step];
            for (long i = count; i < SIDE; ++i) at[i] = bfloat16{0};
        }
}

// One key head of a block. Rows of queries, answers and slopes are `width` numbers one after the other; those of keys
// and values are `stride` apart.
struct Head {
    const bfloat16 *query, *keys, *values, *slope, *answer;
    const uint8_t* seen;  // [whole places, whole rows]
    const float* sums;
    bfloat16 *of_query, *of_keys, *of_values;
    long rows, places, width, stride;
    float scale;
};

// What a thread keeps of a head.
struct Room {
    std::vector<bfloat16> asked, sloped, asked_across, sloped_across, keys, values, keys_across, shares, slopes, laid;
    std::vector<float> sums, along, of_query;

    Room(long rows, long width) {
        long whole = whole_rows(rows);
        for (auto* each : {&asked, &sloped, &asked_across, &sloped_across}) each->resize(whole * width);
        for (auto* each : {&keys, &values, &keys_across}) each->resize(KEYS * width);
        for (auto* each : {&shares, &slopes, &laid}) each->resize(KEYS * whole);
        sums.resize(whole), along.resize(whole), of_query.resize(whole * width);
    }
};

// The shares of 32 queries in 32 keys, and their gradients: as rows, and as a block of a weight.
void shared(const Head& head, Room& room, long start, long key, long query, long count) {
    long whole = whole_rows(head.rows), tiles = head.width / SIDE;
    alignas(64) Sums scores, slopes;
    add(room.keys.data() + key * head.width, room.asked.data() + query * head.width, PASS, tiles, {false, true}, scores);
    add(room.values.data() + key * head.width, room.sloped.data() + query * head.width, PASS, tiles, {false, true}, slopes);
    const float *sums = room.sums.data() + query, *along = room.along.data() + query;
    for (long row = 0; row < SIDE; ++row) {
        const uint8_t* looks = head.seen + (start + key + row) * whole + query;
        bfloat16* shares = room.shares.data() + tiled(key + row, query, whole);
        bfloat16* found = room.slopes.data() + tiled(key + row, query, whole);
        for (long i = 0; i < SIDE; ++i) {
            float share = looks[i] ? power(scores[row][i] * head.scale - sums[i]) : 0.0f;
            shares[i] = narrow<bfloat16>(share);
            found[i] = narrow<bfloat16>(share * (slopes[row][i] - along[i]) * head.scale);
        }
    }
    uint16_t* to = (uint16_t*)room.laid.data() + (query / SIDE * (count / SIDE) + key / SIDE) * SQUARE;
    for (long half = 0; half < SIDE; half += ROWS)  // two keys of a query side by side, 16 queries in a line
        for (long row = 0; row < SIDE; row += 2, to += SIDE) {
            const bfloat16* one = room.slopes.data() + tiled(key + row, query + half, whole);
            const bfloat16* other = room.slopes.data() + tiled(key + row + 1, query + half, whole);
            for (long i = 0; i < ROWS; ++i) to[2 * i] = one[i].bits, to[2 * i + 1] = other[i].bits;
        }
}

// Writes the products of `count` rows in tiles, `depth` long, with a weight [width, depth], `stride` apart.
void write(const bfloat16* rows, const bfloat16* weight, bfloat16* to, long count, long depth, long width, long stride) {
    alignas(64) Sums sums;
    for (long row = 0; row < count; row += PASS)
        for (long column = 0; column < width; column += SIDE) {
            add(rows + row * depth, weight + column * depth, PASS, depth / SIDE, {false, true}, sums);
            for (long i = 0; i < std::min(PASS, count - row); ++i)
                for (long k = 0; k < SIDE; ++k) to[(row + i) * stride + column + k] = narrow<bfloat16>(sums[i][k]);
        }
}

void attend_back(const Head& head, Room& room) {
    long whole = whole_rows(head.rows), width = head.width;
    pack(head.query, room.asked.data(), head.rows, width, width, 1, 1.0f);
    pack(head.slope, room.sloped.data(), head.rows, width, width, 1, 1.0f);
    pack(head.query, room.asked_across.data(), width, head.rows, 1, width, 1.0f);
    pack(head.slope, room.sloped_across.data(), width, head.rows, 1, width, 1.0f);
    for (long row = 0; row < whole; ++row) {
        float along = 0.0f;
        if (row < head.rows)
            for (long i = 0; i < width; ++i) along += wide(head.slope[row * width + i]) * wide(head.answer[row * width + i]);
        room.along[row] = along;
        room.sums[row] = row < head.rows ? head.sums[row] : 0.0f;
    }
    for (long start = 0; start < head.places; start += KEYS) {
        long places = std::min(KEYS, head.places - start), count = whole_rows(places), at = start * head.stride;
        lay_rows(head.keys + at, room.keys.data(), places, width, head.stride, 1);
        lay_rows(head.values + at, room.values.data(), places, width, head.stride, 1);
        lay_rows(head.keys + at, room.keys_across.data(), width, places, 1, head.stride);
        for (long key = 0; key < count; key += SIDE)
            for (long query = 0; query < whole; query += SIDE) shared(head, room, start, key, query, count);
        write(room.shares.data(), room.sloped_across.data(), head.of_values + at, places, whole, width, head.stride);
        write(room.slopes.data(), room.asked_across.data(), head.of_keys + at, places, whole, width, head.stride);
        for (long column = 0; column < width; column += SIDE)
            for (long query = 0; query < whole; query += SIDE) {
                Sums& sums = *(Sums*)(room.of_query.data() + (column * whole + query * SIDE));
                How how = {false, start == 0};
                add(room.keys_across.data() + column * count, room.laid.data() + query * count, PASS, count / SIDE, how, sums);
            }
    }
    for (long column = 0; column < width; column += SIDE)
        for (long row = 0; row < head.rows; ++row) {
            const Sums& sums = *(const Sums*)(room.of_query.data() + (column * whole + row / SIDE * SQUARE));
            for (long i = 0; i < SIDE; ++i)
                head.of_query[row * width + column + i] = narrow<bfloat16>(sums[i][row % SIDE]);
        }
}

}  // namespace
#endif

// The gradients of queries [blocks, heads, rows, width] and of keys and values [blocks, places, heads, width] from those
// of the answers, `slope` like the queries; `sums` [blocks, heads, rows] are the logarithms of what shares were divided
// by, and `seen` [blocks, whole places, whole rows] says who looks where. For processors with tiles.
extern "C" void attend_back(const bfloat16* query, const bfloat16* keys, const bfloat16* values, const uint8_t* seen,
                            const bfloat16* slope, const bfloat16* answer, const float* sums, bfloat16* of_query,
                            bfloat16* of_keys, bfloat16* of_values, long blocks, long heads, long rows, long places,
                            long width, float scale) {
#if defined(__AMX_BF16__)
#pragma omp parallel
    {
        Multiplying multiplying;
        Room room(rows, width);
#pragma omp for collapse(2)
        for (long block = 0; block < blocks; ++block)
            for (long head = 0; head < heads; ++head) {
                long of_rows = (block * heads + head) * rows, mine = of_rows * width;
                long told = (block * places * heads + head) * width;
                const uint8_t* looks = seen + block * whole_rows(places) * whole_rows(rows);
                attend_back({query + mine, keys + told, values + told, slope + mine, answer + mine, looks, sums + of_rows,
                             of_query + mine, of_keys + told, of_values + told, rows, places, width, heads * width, scale},
                            room);
            }
    }
#endif
}

// Whether the processor has them, and lets this process use them.
extern "C" long multiplies_in_tiles() { return has_tiles(); }

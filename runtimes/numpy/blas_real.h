// One real type of blas.c: PREFIX and TYPE.

#define NUMBER TYPE
#define SCALAR TYPE
#define VALUE(scalar) (scalar)
#define ADD(x, y) ((x) + (y))
#define MULTIPLY(x, y) ((x) * (y))
#define IS_ZERO(x) ((x) == 0)

typedef TYPE LOCAL(vector) __attribute__((vector_size(16)));
enum { LOCAL(lanes) = 16 / sizeof(TYPE), LOCAL(tile_columns) = TILE_VECTORS * LOCAL(lanes) };

static TYPE LOCAL(sum)(CBLAS_INT count, const TYPE *x, long x_step, const TYPE *y, long y_step)
{
    TYPE sum = 0;
    CBLAS_INT i = 0;
    if (x_step == 1 && y_step == 1) {
        // Four sums at a time, or each addition would wait for the one before.
        LOCAL(vector) sums[4] = {0};
        for (; i + 4 * LOCAL(lanes) <= count; i += 4 * LOCAL(lanes)) {
            for (int v = 0; v < 4; v++) {
                LOCAL(vector) left, right;
                __builtin_memcpy(&left, x + i + v * LOCAL(lanes), 16);
                __builtin_memcpy(&right, y + i + v * LOCAL(lanes), 16);
                sums[v] += left * right;
            }
        }
        LOCAL(vector) all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        for (int lane = 0; lane < LOCAL(lanes); lane++) {
            sum += all[lane];
        }
    }
    for (; i < count; i++) {
        sum += x[i * x_step] * y[i * y_step];
    }
    return sum;
}

TYPE CBLAS(dot)(CBLAS_INT count, const void *x, CBLAS_INT x_step, const void *y, CBLAS_INT y_step)
{
    return LOCAL(sum)(count, x, x_step, y, y_step);
}

// One tile: TILE_ROWS rows of a, packed by column, times TILE_VECTORS vectors of b, packed by row. The sums stay in registers.
static void LOCAL(tile)(int terms, const TYPE *a, const LOCAL(vector) *b, LOCAL(vector) sums[TILE_ROWS][TILE_VECTORS])
{
    LOCAL(vector) tile[TILE_ROWS][TILE_VECTORS] = {0};
    for (int k = 0; k < terms; k++, a += TILE_ROWS, b += TILE_VECTORS) {
        for (int row = 0; row < TILE_ROWS; row++) {
            for (int v = 0; v < TILE_VECTORS; v++) {
                tile[row][v] += a[row] * b[v];
            }
        }
    }
    __builtin_memcpy(sums, tile, sizeof tile);
}

// pack(to, width, from, ...): `count` slices of `width` numbers each, of which `there` exist; the rest is 0.
static void LOCAL(pack)(TYPE *to, int width, int there, int count, const TYPE *from, long slice_step, long step)
{
    for (int k = 0; k < count; k++, from += slice_step) {
        for (int i = 0; i < width; i++) {
            *to++ = i < there ? from[i * step] : 0;
        }
    }
}

static void LOCAL(product)(int rows, int columns, int terms, TYPE alpha, const TYPE *a, long a_row, long a_column, const TYPE *b, long b_row,
                           long b_column, TYPE beta, TYPE *c, long c_row)
{
    enum { WIDTH = LOCAL(tile_columns) };
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < columns; j++) {
            c[i * c_row + j] = beta == 0 ? 0 : beta * c[i * c_row + j];
        }
    }
    TYPE *packed = malloc((BLOCK_COLUMNS + TILE_ROWS) * BLOCK_TERMS * sizeof(TYPE));
    for (int j0 = 0; j0 < columns; j0 += BLOCK_COLUMNS) {
        int block = columns - j0 < BLOCK_COLUMNS ? columns - j0 : BLOCK_COLUMNS;
        for (int k0 = 0; k0 < terms; k0 += BLOCK_TERMS) {
            int depth = terms - k0 < BLOCK_TERMS ? terms - k0 : BLOCK_TERMS;
            if (packed == NULL) {
                // No memory for speed.
                for (int i = 0; i < rows; i++) {
                    for (int j = j0; j < j0 + block; j++) {
                        c[i * c_row + j] += alpha * LOCAL(sum)(depth, a + i * a_row + k0 * a_column, a_column, b + k0 * b_row + j * b_column, b_row);
                    }
                }
                continue;
            }
            TYPE *packed_a = packed + BLOCK_COLUMNS * BLOCK_TERMS;
            for (int j = 0; j < block; j += WIDTH) {
                LOCAL(pack)(packed + j * depth, WIDTH, block - j, depth, b + k0 * b_row + (j0 + j) * b_column, b_row, b_column);
            }
            for (int i = 0; i < rows; i += TILE_ROWS) {
                LOCAL(pack)(packed_a, TILE_ROWS, rows - i, depth, a + i * a_row + k0 * a_column, a_column, a_row);
                for (int j = 0; j < block; j += WIDTH) {
                    LOCAL(vector) sums[TILE_ROWS][TILE_VECTORS];
                    LOCAL(tile)(depth, packed_a, (const LOCAL(vector) *)(packed + j * depth), sums);
                    const TYPE *sum = (const TYPE *)sums;
                    for (int row = 0; row < TILE_ROWS && i + row < rows; row++) {
                        for (int column = 0; column < WIDTH && j + column < block; column++) {
                            c[(i + row) * c_row + j0 + j + column] += alpha * sum[row * WIDTH + column];
                        }
                    }
                }
            }
        }
    }
    free(packed);
}

#include "blas_common.h"

#undef NUMBER
#undef SCALAR
#undef VALUE
#undef ADD
#undef MULTIPLY
#undef IS_ZERO
#undef PREFIX
#undef TYPE

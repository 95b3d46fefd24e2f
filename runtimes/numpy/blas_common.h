// Included by blas_real.h and blas_complex.h, with NUMBER, SCALAR and VALUE: the type, and how it is passed.

// y += alpha * x
void CBLAS(axpy)(CBLAS_INT count, SCALAR alpha, const void *x, CBLAS_INT x_step, void *y, CBLAS_INT y_step)
{
    const NUMBER *from = x, factor = VALUE(alpha);
    NUMBER *to = y;
    for (CBLAS_INT i = 0; i < count; i++) {
        to[i * y_step] = ADD(to[i * y_step], MULTIPLY(factor, from[i * x_step]));
    }
}

// Both storage orders and the transposed matrix are one thing: how far it is to the next row, and to the next column.
#define STEPS(order, transposed, leading)                                                                                                 \
    {                                                                                                                                     \
        ((order) == ROW_MAJOR) != ((transposed) == TRANSPOSED) ? (leading) : 1,                                                           \
            ((order) == ROW_MAJOR) != ((transposed) == TRANSPOSED) ? 1 : (leading)                                                        \
    }

// c = alpha * a b + beta * c. Only the order of c is fixed by the caller; a product in columns is that of the transposed in rows.
void CBLAS(gemm)(int order, int transpose_a, int transpose_b, CBLAS_INT rows, CBLAS_INT columns, CBLAS_INT terms, SCALAR alpha,
                 const void *a, CBLAS_INT a_leading, const void *b, CBLAS_INT b_leading, SCALAR beta, void *c, CBLAS_INT c_leading)
{
    long a_steps[2] = STEPS(order, transpose_a, a_leading), b_steps[2] = STEPS(order, transpose_b, b_leading);
    if (order == ROW_MAJOR) {
        LOCAL(product)(rows, columns, terms, VALUE(alpha), a, a_steps[0], a_steps[1], b, b_steps[0], b_steps[1], VALUE(beta), c, c_leading);
    } else {
        LOCAL(product)(columns, rows, terms, VALUE(alpha), b, b_steps[1], b_steps[0], a, a_steps[1], a_steps[0], VALUE(beta), c, c_leading);
    }
}

// c = alpha * a aᵀ + beta * c. Only one triangle is asked for; the other gets what the caller would copy there.
void CBLAS(syrk)(int order, int triangle, int transpose, CBLAS_INT size, CBLAS_INT terms, SCALAR alpha, const void *a, CBLAS_INT a_leading,
                 SCALAR beta, void *c, CBLAS_INT c_leading)
{
    long steps[2] = STEPS(order, transpose, a_leading);
    LOCAL(product)(size, size, terms, VALUE(alpha), a, steps[0], steps[1], a, steps[1], steps[0], VALUE(beta), c, c_leading);
}

// y = alpha * a x + beta * y
void CBLAS(gemv)(int order, int transpose, CBLAS_INT rows, CBLAS_INT columns, SCALAR alpha, const void *a, CBLAS_INT a_leading, const void *x,
                 CBLAS_INT x_step, SCALAR beta, void *y, CBLAS_INT y_step)
{
    long steps[2] = STEPS(order, transpose, a_leading);
    const NUMBER *matrix = a, factor = VALUE(alpha), keep = VALUE(beta);
    NUMBER *to = y;
    CBLAS_INT count = transpose == TRANSPOSED ? columns : rows, terms = transpose == TRANSPOSED ? rows : columns;
    for (CBLAS_INT i = 0; i < count; i++) {
        NUMBER sum = MULTIPLY(factor, LOCAL(sum)(terms, matrix + i * steps[0], steps[1], x, x_step));
        // With beta 0, y need not hold numbers.
        to[i * y_step] = IS_ZERO(keep) ? sum : ADD(sum, MULTIPLY(keep, to[i * y_step]));
    }
}

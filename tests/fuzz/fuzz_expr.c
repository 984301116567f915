/*
 * Parses any bytes as an expression. What parses must print, parse again to an equal expression of
 * equal fingerprint, and, where it is small, evaluate to equal residues.
 */
#include <frugal/expr.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_WORK = 20000 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static int is_small(const fr_expr *e)
{
    static fr_expr_input inputs[FR_EXPR_TENSORS];
    double values;
    int n;
    if (fr_expr_work(e, &values) != FR_OK ||
        fr_expr_inputs(e, inputs, FR_EXPR_TENSORS, &n) != FR_OK)
        abort();
    for (int i = 0; i < n; i++) {
        double count = 1;
        for (int d = 0; d < inputs[i].rank; d++)
            count *= (double)inputs[i].shape[d];
        values += count;
    }
    return values < MOST_WORK;
}

static void compare_values(const fr_expr *a, const fr_expr *b)
{
    fr_tensor x, y;
    const fr_status status = fr_expr_evaluate_exact(a, NULL, NULL, 0, 1, &x);
    if (fr_expr_evaluate_exact(b, NULL, NULL, 0, 1, &y) != status)
        abort();
    if (status != FR_OK && status != FR_ERANGE && status != FR_ENOTSUP)
        abort(); /* a division by 0, or a rank above 8: nothing else may fail once it parsed */
    if (status == FR_OK && memcmp(x.data, y.data, (size_t)fr_tensor_count(&x) * 8) != 0)
        abort();
    fr_tensor_release(&x);
    fr_tensor_release(&y);
}

static void round_trip(const fr_expr *e)
{
    fr_expr again;
    fr_fingerprint x, y;
    const char *text = fr_expr_text(e);
    if (text == NULL)
        return; /* longer than a text may be */
    if (fr_expr_parse(text, &again) != FR_OK || !fr_expr_equal(e, &again))
        abort();
    if (fr_expr_fingerprint(e, &x) != FR_OK || fr_expr_fingerprint(&again, &y) != FR_OK ||
        x.low != y.low || x.high != y.high)
        abort();
    if (is_small(e))
        compare_values(e, &again);
    fr_expr_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    fr_expr e;
    char *text = malloc(length + 1);
    if (text == NULL)
        abort();
    memcpy(text, bytes, length);
    text[length] = 0;
    if (fr_expr_parse(text, &e) == FR_OK)
        round_trip(&e);
    else if (e.pool != NULL || fr_error_message()[0] == 0)
        abort();
    fr_expr_release(&e);
    free(text);
    return 0;
}

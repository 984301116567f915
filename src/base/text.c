/*
 * text.c: numbers and sizes out of strings; the nearest word. See text.h.
 *
 * strtod follows the locale; the library never sets one, and a program that does must keep LC_NUMERIC at "C".
 */
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool starts_a_number(const char *text)
{
    return *text != '\0' && !isspace((unsigned char)*text);
}

bool fr_parse_int(const char *text, int64_t *out)
{
    if (!starts_a_number(text))
        return false;
    char *end;
    errno = 0;
    const long long value = strtoll(text, &end, 10);
    if (errno != 0 || *end != '\0' || end == text)
        return false;
    *out = value;
    return true;
}

bool fr_parse_double(const char *text, double *out)
{
    if (!starts_a_number(text) || strpbrk(text, "xXnN") != NULL) /* no hexadecimal, nan, inf */
        return false;
    char *end;
    errno = 0;
    const double value = strtod(text, &end);
    if (*end != '\0' || end == text || !isfinite(value))
        return false;
    *out = value;
    return true;
}

bool fr_parse_size(const char *text, int64_t *out)
{
    static const char suffixes[] = "KMGT";
    const size_t n = strlen(text);
    if (n == 0 || n > 30)
        return false;
    char digits[32];
    memcpy(digits, text, n + 1);
    double factor = 1;
    const char *suffix = strchr(suffixes, toupper((unsigned char)text[n - 1]));
    if (suffix != NULL) {
        factor = pow(1024, (double)(suffix - suffixes + 1));
        digits[n - 1] = '\0';
    }
    double value;
    if (!fr_parse_double(digits, &value) || value < 0 || value * factor >= 0x1p62)
        return false;
    *out = (int64_t)(value * factor);
    return true;
}

bool fr_parse_int_list(const char *text, int64_t *values, int most, int *n)
{
    int count = 0;
    for (const char *next = text;;) {
        const char *comma = strchr(next, ',');
        const size_t length = comma != NULL ? (size_t)(comma - next) : strlen(next);
        char item[32];
        if (count == most || length >= sizeof item)
            return false;
        memcpy(item, next, length);
        item[length] = '\0';
        if (!fr_parse_int(item, &values[count++]))
            return false;
        if (comma == NULL)
            break;
        next = comma + 1;
    }
    *n = count;
    return true;
}

static int least(int a, int b) { return a < b ? a : b; }

int fr_edit_distance(const char *a, const char *b)
{
    enum { MOST = 63 };
    const int n = (int)strnlen(a, MOST), m = (int)strnlen(b, MOST);
    int d[MOST + 1][MOST + 1];
    for (int i = 0; i <= n; i++)
        d[i][0] = i;
    for (int j = 0; j <= m; j++)
        d[0][j] = j;
    for (int i = 1; i <= n; i++)
        for (int j = 1; j <= m; j++) {
            d[i][j] = least(least(d[i - 1][j] + 1, d[i][j - 1] + 1), d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

const char *fr_nearest_word(const char *word, const char *const *candidates, int n)
{
    const char *nearest = NULL;
    int distance = 1 + (int)strlen(word) / 3; /* a third of the letters may be wrong */
    for (int i = 0; i < n; i++) {
        const int d = fr_edit_distance(word, candidates[i]);
        if (d < distance || (d == distance && nearest == NULL)) {
            nearest = candidates[i];
            distance = d;
        }
    }
    return nearest;
}

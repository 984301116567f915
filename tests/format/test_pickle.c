/*
 * Oracle: pickles spelt out opcode by opcode, as pickletools.dis shows them.
 */
#include "format_test.h"

#include "format/pickle.h"

static fr_status open_bytes(const char *bytes, size_t length, fr_pickle **pickle)
{
    const char *folder = fr_test_folder(), *path = path_in(folder, "p.pickle");
    write_bytes(path, bytes, length);
    const fr_status status = fr_pickle_open(path, pickle);
    if (status != FR_OK)
        assert_non_null(strstr(fr_error_message(), "p.pickle"));
    assert_int_equal(fr_folder_remove(folder), FR_OK); /* the mapping stays */
    return status;
}

/* {"a": [1, -2, 300], "b": (None, True), "c": the list of "a" again} */
static const char small[] = "\x80\x02}q\x00(X\x01\x00\x00\x00"
                            "a]q\x01(K\x01J\xfe\xff\xff\xffM\x2c\x01"
                            "eU\x01"
                            "bN\x88\x86X\x01\x00\x00\x00"
                            "ch\x01u.";

static void a_small_tree_is_read(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks();
    fr_pickle *pickle;
    assert_int_equal(open_bytes(small, sizeof small - 1, &pickle), FR_OK);
    const fr_pickle_value *root = fr_pickle_root(pickle), *a = fr_pickle_find(root, "a"), *b = fr_pickle_find(root, "b");
    assert_int_equal(root->kind, FR_PICKLE_DICT);
    assert_int_equal(a->kind, FR_PICKLE_LIST);
    assert_int_equal(a->n_items, 3);
    assert_int_equal(a->items[0]->integer, 1);
    assert_int_equal(a->items[1]->integer, -2);
    assert_int_equal(a->items[2]->integer, 300);
    assert_int_equal(b->kind, FR_PICKLE_TUPLE);
    assert_int_equal(b->items[0]->kind, FR_PICKLE_NONE);
    assert_int_equal(b->items[1]->integer, 1);
    assert_ptr_equal(fr_pickle_find(root, "c"), a);
    assert_null(fr_pickle_find(root, "d"));
    fr_pickle_free(pickle);
    assert_int_equal(fr_live_blocks(), live);
}

static void a_pickle_cut_anywhere_is_refused(void **state)
{
    (void)state;
    const int64_t live = fr_live_blocks();
    for (size_t cut = 0; cut < sizeof small - 1; cut++) {
        fr_pickle *pickle;
        assert_int_equal(open_bytes(small, cut, &pickle), FR_EFORMAT);
        assert_null(pickle);
        assert_int_equal(fr_live_blocks(), live);
    }
}

static void code_is_refused_by_its_name(void **state)
{
    (void)state;
    fr_pickle *pickle;
    static const char evil[] = "\x80\x02"
                               "cposix\nsystem\nU\x04true\x85R.";
    assert_int_equal(open_bytes(evil, sizeof evil - 1, &pickle), FR_ENOTSUP);
    assert_non_null(strstr(fr_error_message(), "posix system"));
}

static void opcodes_on_the_wrong_values_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
    } cases[] = {
#define CASE(text) {text, sizeof text - 1}
        CASE("."),       CASE("a."),         CASE("e."),           CASE("u."),        CASE("t."),      CASE("b."),
        CASE("R."),      CASE("\x86."),      CASE("h\x05."),       CASE("q\x00."),    CASE("N(NNu."),  CASE("}(K\x01u."),
        CASE("NNa."),    CASE("]K\x01K\x02s."), CASE("N)R."),      CASE("NN\x81."),   CASE("K\x01Nb."), CASE("\x8a\x09xxxxxxxxx."),
        CASE("T\xff\xff\xff\xff"), CASE("r\xff\xff\xff\x7f"), CASE("Nr\xff\xff\xff\x7f."), CASE("\x80\x05N."), CASE("\x95N."), CASE("cnumpy\n"),
    };
    const int64_t live = fr_live_blocks();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_pickle *pickle;
        if (open_bytes(cases[i].bytes, cases[i].length, &pickle) != FR_EFORMAT)
            fail_msg("case %zu was taken", i);
        assert_int_equal(fr_live_blocks(), live);
    }
}

static void integers_of_all_lengths_keep_their_sign(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t length;
        int64_t value;
    } cases[] = {
        {"\x8a\x00.", 3, 0},          {"\x8a\x01\xff.", 4, -1},        {"\x8a\x02\xff\x00.", 5, 255}, {"\x8a\x01\x80.", 4, -128},
        {"J\x00\x00\x00\x80.", 6, INT32_MIN}, {"M\xff\xff.", 4, 65535}, {"\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.", 11, INT64_MIN},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_pickle *pickle;
        assert_int_equal(open_bytes(cases[i].bytes, cases[i].length, &pickle), FR_OK);
        assert_int_equal(fr_pickle_root(pickle)->integer, cases[i].value);
        fr_pickle_free(pickle);
    }
}

static void any_flipped_byte_is_survived(void **state)
{
    (void)state;
    char bytes[sizeof small];
    const int64_t live = fr_live_blocks();
    for (size_t at = 0; at < sizeof small - 1; at++)
        for (int bit = 0; bit < 8; bit++) {
            fr_pickle *pickle;
            memcpy(bytes, small, sizeof small);
            bytes[at] = (char)(bytes[at] ^ (1 << bit));
            if (open_bytes(bytes, sizeof small - 1, &pickle) == FR_OK)
                fr_pickle_free(pickle);
            assert_int_equal(fr_live_blocks(), live);
        }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_small_tree_is_read),
    cmocka_unit_test(a_pickle_cut_anywhere_is_refused),
    cmocka_unit_test(code_is_refused_by_its_name),
    cmocka_unit_test(opcodes_on_the_wrong_values_are_refused),
    cmocka_unit_test(integers_of_all_lengths_keep_their_sign),
    cmocka_unit_test(any_flipped_byte_is_survived),
};

FR_TEST_MAIN(tests)

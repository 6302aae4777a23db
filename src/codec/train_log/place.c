/* SPDX-License-Identifier: Apache-2.0 */
/* Whose log it is: the rank and the pod that a line or the path of its file names. */
#include "codec/train_log/text_priv.h"

#include "base/limits.h"
#include "codec/match_priv.h"

#include <string.h>

#define S(literal) TC_LIT(literal)

/* How far into a line its rank is looked for: behind the time and a logger's name. */
#define RANK_WITHIN 64

/* The rank that a text begins with, in slot 0 of the pattern; -1. */
static int32_t rank_in(struct tc_slice s, const char *pattern)
{
    struct tc_slice got[TC__TEXT_SLOTS];
    uint64_t rank = 0;
    bool there = tc__text_match(s, pattern, got) && tc_slice_is_u64(got[0], &rank);
    return there && rank <= TC_FR_RANK_MAX ? (int32_t)rank : -1;
}

int32_t tc__train_rank(struct tc_slice line)
{
    size_t at = tc_slice_find_nocase(tc_slice_head(line, RANK_WITHIN), S("[rank"));
    return at == TC_NPOS ? -1 : rank_in(tc_slice_from(line, at + S("[rank").len), "%s{0%d}]");
}

static struct tc_slice after(struct tc_slice s, struct tc_slice word)
{
    size_t at = tc_slice_find(s, word);
    return at == TC_NPOS ? TC_EMPTY : tc_slice_from(s, at + word.len);
}

void tc__train_pod(struct tc_slice path, struct tc_scope *io)
{
    struct tc_slice rest = tc_slice_starts(path, S("pods/")) ? tc_slice_from(path, S("pods/").len)
                                                             : after(path, S("/pods/"));
    struct tc_slice folder = tc_slice_cut(rest, '/', &rest);
    struct tc_slice container = tc_slice_cut(rest, '/', &rest);
    struct tc_slice uid;
    struct tc_slice ns = tc_slice_cut(folder, '_', &uid);
    struct tc_slice pod = tc_slice_cut(uid, '_', &uid);
    if (ns.len > 0 && pod.len > 0 && uid.len > 0 && rest.len > 0) {
        io->ns = ns;
        io->pod = pod;
        io->pod_uid = uid;
        io->container = container;
    }
}

static bool ends_nocase(struct tc_slice s, struct tc_slice word)
{
    return s.len >= word.len && tc_slice_eq_nocase(tc_slice_from(s, s.len - word.len), word);
}

int32_t tc__train_path_rank(struct tc_slice path)
{
    const char *slash = path.len == 0 ? NULL : memrchr(path.ptr, '/', path.len);
    struct tc_slice name = tc_slice_from(path, slash == NULL ? 0 : (size_t)(slash - path.ptr) + 1);
    size_t at = tc_slice_find_nocase(name, S("rank"));
    struct tc_slice before = tc_slice_head(name, at == TC_NPOS ? 0 : at);
    struct tc_slice rest = tc_slice_from(name, at == TC_NPOS ? name.len : at + S("rank").len);
    if (before.len > 0 && (before.ptr[before.len - 1] == '_' || before.ptr[before.len - 1] == '-' ||
                           before.ptr[before.len - 1] == '.')) {
        before.len--;
    } else if (before.len > 0) {
        return -1; /* "noderank3", "frank1" */
    }
    if (ends_nocase(before, S("node")) || ends_nocase(before, S("local")) ||
        ends_nocase(before, S("group"))) {
        return -1;
    }
    return rank_in(rest, "<_|-|.|>%s{0%d}");
}

void tc__train_pod_file(struct tc_slice path, struct tc_scope *io)
{
    static const char *const roles[] = {"master-", "worker-", "launcher-", "chief-", "ps-"};
    const char *slash = path.len == 0 ? NULL : memrchr(path.ptr, '/', path.len);
    struct tc_slice name = tc_slice_from(path, slash == NULL ? 0 : (size_t)(slash - path.ptr) + 1);
    struct tc_slice got[TC__TEXT_SLOTS];
    for (size_t i = 0; i < TC_COUNT(roles); i++) {
        size_t at = tc_slice_find(name, tc_slice_cstr(roles[i]));
        size_t number = at == TC_NPOS ? 0 : at + strlen(roles[i]);
        if (at == TC_NPOS || (at > 0 && name.ptr[at - 1] != '-') ||
            !tc__text_match(tc_slice_from(name, number),
                            "{0%d}<-previous|_previous|.previous|><.log"
                            "|.txt|.out>$",
                            got)) {
            continue;
        }
        struct tc_slice pod = tc_slice_head(name, number + got[0].len);
        bool valid = pod.len <= TC_SCOPE_TEXT_MAX;
        for (size_t k = 0; k < pod.len && valid; k++) {
            char c = pod.ptr[k];
            valid = (c >= 'a' && c <= 'z') || tc_is_digit(c) || c == '-' || c == '.';
        }
        io->pod = valid ? pod : io->pod;
        return;
    }
}

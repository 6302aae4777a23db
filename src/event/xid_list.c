/* SPDX-License-Identifier: Apache-2.0 */
/* What a site says of Xids. */
#include "event/xid.h"

#include "base/buf.h"

#include <string.h>

#define CODE_MAX 9999
#define SHOWN_MAX 40

static const char *const CLASSES[] = {[TC_XID_HARDWARE] = "hardware",
                                      [TC_XID_APPLICATION] = "application",
                                      [TC_XID_DRIVER] = "driver",
                                      [TC_XID_INFO] = "info",
                                      NULL};
static const char *const SEVERITIES[] = {[TC_XID_NOTICE] = "notice",
                                         [TC_XID_WARNING] = "warning",
                                         [TC_XID_ERROR] = "error",
                                         [TC_XID_FATAL] = "fatal",
                                         NULL};

static struct tc_slice take_word(struct tc_slice *io_rest)
{
    struct tc_slice rest = tc_slice_trim(*io_rest);
    return tc_slice_trim(tc_slice_cut(rest, ' ', io_rest));
}

static const struct tc_xid *find_own(const struct tc_xid_list *list, int64_t code)
{
    for (size_t i = 0; list != NULL && i < list->count; i++) {
        if (list->items[i].code == code) {
            return &list->items[i];
        }
    }
    return NULL;
}

/* Letters, digits and what sentences are made of: it goes into verdicts as it is. */
static bool is_sentence(struct tc_slice s)
{
    return s.len > 0 && s.len <= TC_XID_ADVICE_MAX && tc_slice_is_plain(s);
}

/* What is wrong with an entry, NULL when nothing is: then it is the last of the list. */
static const char *add(struct tc_xid_list *list, struct tc_slice entry)
{
    struct tc_slice advice;
    struct tc_slice head = tc_slice_cut(entry, ':', &advice);
    bool has_advice = head.len < entry.len;
    int64_t code = 0;
    if (!tc_slice_is_i64(take_word(&head), &code) || code < 1 || code > CODE_MAX) {
        return "it has to begin with the number of an Xid, from 1 to 9999";
    }
    int class = tc_slice_which(take_word(&head), CLASSES);
    int severity = tc_slice_which(take_word(&head), SEVERITIES);
    if (class < 0) {
        return "the number is followed by a class: hardware, application, driver or info";
    }
    if (severity < 0 || tc_slice_trim(head).len > 0) {
        return "the class is followed by a severity: notice, warning, error or fatal";
    }
    advice = tc_slice_trim(advice);
    if (has_advice && !is_sentence(advice)) {
        return "the advice is plain text without quotes, of up to 200 characters";
    }
    if (find_own(list, code) != NULL) {
        return "the number is there twice";
    }
    if (list->count == TC_XID_LIST_MAX) {
        return "there are more than 64 entries";
    }
    const struct tc_xid *known = tc_xid_find(code);
    char *text = list->advice[list->count];
    memcpy(text, advice.ptr, advice.len);
    text[advice.len] = '\0';
    list->items[list->count++] =
        (struct tc_xid){.code = (int32_t)code,
                        .class = (enum tc_xid_class) class,
                        .severity = (enum tc_xid_severity)severity,
                        .name = known != NULL ? known->name : "an error that this site lists",
                        .action = has_advice      ? text
                                  : known != NULL ? known->action
                                                  : "follow the rules of this site"};
    return NULL;
}

tc_status tc_xid_list_read(struct tc_slice lines, struct tc_xid_list *out, struct tc_error *err)
{
    struct tc_slice rest = lines;
    out->count = 0;
    while (rest.len > 0) {
        struct tc_slice entry = tc_slice_trim(tc_slice_cut(rest, '\n', &rest));
        const char *wrong = entry.len == 0 ? NULL : add(out, entry);
        if (wrong != NULL) {
            out->count = 0;
            return tc_fail(err, TC_E_MALFORMED, 0,
                           "\"%.*s\": %s; write CODE CLASS SEVERITY: ADVICE",
                           TC_FMT(tc_slice_head(entry, SHOWN_MAX)), wrong);
        }
    }
    return TC_OK;
}

const struct tc_xid *tc_xid_list_find(const struct tc_xid_list *list, int64_t code)
{
    const struct tc_xid *own = find_own(list, code);
    return own != NULL ? own : tc_xid_find(code);
}

bool tc_xid_list_says(const struct tc_xid_list *list, int64_t code, enum tc_xid_class class)
{
    const struct tc_xid *own = find_own(list, code);
    return own != NULL && own->class == class;
}

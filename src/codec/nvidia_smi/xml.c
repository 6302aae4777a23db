/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nvidia-smi -q -x. The document (nvsmi_device_v9 to v12) is flat and written by one program:
 * elements, one attribute, text without entities, no namespaces, no CDATA. So this walks its tags
 * and needs no library for XML: one GPU at a time, so that a file that was cut gives the GPUs
 * before the cut and what is there of the last; prefixes of collectors between the lines do no
 * harm, since values stand between two tags of one line.
 */
#include "base/time.h"
#include "codec/nvidia_smi/priv.h"

#define GPU_TAG TC_LIT("<gpu id=\"")
#define TIME_TAG TC_LIT("<timestamp>")
/* The head of the document, which has its time. */
#define HEAD_BYTES 1024
/* One GPU: with many MIG devices and processes. */
#define GPU_BYTES_MAX ((size_t)1 << 20)
#define TAGS_MAX 65536
#define DEPTH_MAX 16
/* Of a document on one line. */
#define GPUS_MAX 256
/* Of a line that has the whole document, so much is evidence of one value. */
#define LINE_NEAR 256

struct walk {
    struct tc_slice names[DEPTH_MAX]; /* the open elements */
    size_t depth;
    struct tc_slice opened; /* the tag just seen, when it opened an element */
    size_t text_at;         /* where its text begins */
};

/* The line that ends an element at `at`, or so much of it as is near. */
static struct tc_slice line_of(struct tc_slice bytes, size_t at)
{
    size_t from = at > LINE_NEAR ? at - LINE_NEAR : 0;
    size_t newline = tc_slice_find_last(tc_slice_make(bytes.ptr + from, at - from), TC_LIT("\n"));
    struct tc_slice rest = tc_slice_head(
        tc_slice_from(bytes, newline == TC_NPOS ? from : from + newline + 1), 2 * LINE_NEAR);
    return tc_slice_head(rest, tc_slice_find_byte(rest, '\n'));
}

/* `tag` is what stands between < and >; `at` is where the < is. */
static void step_tag(struct tc__lines *w, struct walk *x, struct tc_slice xml, struct tc_slice tag,
                     size_t at, struct smi_gpu *g)
{
    bool closes = tc_slice_starts(tag, TC_LIT("/"));
    if (tag.len == 0 || tag.ptr[0] == '!' || tag.ptr[0] == '?' || tag.ptr[tag.len - 1] == '/') {
        return;
    }
    if (!closes) {
        struct tc_slice name = tc_slice_head(tag, tc_slice_find_byte(tag, ' '));
        if (tc_slice_eq(name, TC_LIT("volatile")) || tc_slice_eq(name, TC_LIT("aggregate"))) {
            g->aggregate = name.ptr[0] == 'a';
        }
        x->names[x->depth < DEPTH_MAX ? x->depth : DEPTH_MAX - 1] = name;
        x->depth++;
        x->opened = name;
        x->text_at = at + tag.len + 2;
        return;
    }
    if (x->opened.len > 0 && tc_slice_eq(tc_slice_from(tag, 1), x->opened) && x->depth >= 2 &&
        x->depth <= DEPTH_MAX) {
        const struct smi_name *name = tc__smi_name(SMI_XML, x->names[x->depth - 2], x->opened);
        if (name != NULL) {
            struct tc_slice text = tc_slice_make(xml.ptr + x->text_at, at - x->text_at);
            tc__smi_set(w->in, g, name, text, line_of(xml, at));
        }
    }
    x->opened = TC_EMPTY;
    x->depth -= x->depth > 0;
}

/* The element at the start of xml; returns its length. */
static size_t read_gpu(struct tc__lines *w, struct tc_slice xml, struct smi_gpu *g)
{
    struct walk x = {0};
    struct tc_slice id = tc_slice_from(xml, GPU_TAG.len);
    (void)tc_bdf_parse(id, &g->pci);
    size_t at = 0;
    for (unsigned i = 0; i < TAGS_MAX; i++) {
        size_t open = tc_slice_find_byte(tc_slice_from(xml, at), '<');
        struct tc_slice tag = tc_slice_from(xml, open == TC_NPOS ? xml.len : at + open + 1);
        size_t end = tc_slice_find_byte(tag, '>');
        if (end == TC_NPOS) {
            return xml.len;
        }
        step_tag(w, &x, xml, tc_slice_head(tag, end), at + open, g);
        at += open + end + 2;
        if (x.depth == 0) {
            break;
        }
    }
    return at;
}

tc_status tc__smi_xml(struct tc__lines *w, const struct tc__line *line, struct smi_gpu *g,
                      int64_t *io_ns, bool *out_ours)
{
    size_t start = (size_t)(line->raw.ptr - w->in->bytes.ptr);
    struct tc_slice rest = tc_slice_from(w->in->bytes, start);
    size_t line_end = tc_slice_find_byte(rest, '\n');
    size_t stamp = tc_slice_find(tc_slice_head(rest, HEAD_BYTES), TIME_TAG);
    line_end = line_end == TC_NPOS ? rest.len : line_end;
    if (tc_slice_contains(tc_slice_head(rest, line_end), TC_LIT("<nvidia_smi_log"))) {
        *out_ours = true;
        *io_ns = stamp == TC_NPOS ? TC_TIME_NONE
                                  : tc__line_date(w->in, tc_slice_from(rest, stamp + TIME_TAG.len));
    }
    size_t at = 0;
    for (unsigned i = 0; i < GPUS_MAX && at < line_end; i++) {
        size_t found = tc_slice_find(tc_slice_make(rest.ptr + at, line_end - at), GPU_TAG);
        if (found == TC_NPOS) {
            break;
        }
        at += found;
        *out_ours = true;
        struct tc_slice xml = tc_slice_head(tc_slice_from(rest, at), GPU_BYTES_MAX);
        size_t next = tc_slice_find(tc_slice_from(xml, GPU_TAG.len), GPU_TAG);
        xml = tc_slice_head(xml, next == TC_NPOS ? xml.len : GPU_TAG.len + next);
        tc__smi_begin(w, g, line);
        g->time_ns = *io_ns == TC_TIME_NONE ? g->time_ns : *io_ns;
        at += read_gpu(w, xml, g);
        TC_TRY(tc__smi_flush(w, g));
    }
    return TC_OK;
}

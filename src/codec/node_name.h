/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which words name a node, and which node a log is of when its lines name none: by the name of its
 * file or folder, by headings in it ("root@gpu-07:~# dmesg"), by the files beside it. No name is
 * better than a wrong one: words for kinds of files, dates, models of GPUs and containers are none.
 */
#ifndef TC_CODEC_NODE_NAME_H
#define TC_CODEC_NODE_NAME_H

#include "base/slice.h"

#include <stdbool.h>

/* Whether a host may have that name: its letters, and no word that stands for none. */
bool tc_node_is_name(struct tc_slice word);
/* Whether it names one plainly where any word may stand: letters and digits, as nodes have them. */
bool tc_node_is_plain(struct tc_slice word);

/*
 * The node in the name of a file: what is left of it without words for kinds of files, dates and
 * extensions ("dmesg-gpu-07_20261115.txt": "gpu-07"). Empty when that does not plainly name a node.
 */
struct tc_slice tc_node_of_file(struct tc_slice path);
/* The same for the folder that it lies in, or one above that ("gpu-07/var/log/kern.log"). */
struct tc_slice tc_node_of_folder(struct tc_slice path);

/* What the beginning of a text says of where it is from. */
struct tc_node_said {
    struct tc_slice node; /* the only one that is named; empty for none or several */
    bool several;
    bool in_heading; /* a heading names it, not only lines that have a name of their own */
};

/* For a log or a note. `path` tells what a file is that holds nothing but a name. */
struct tc_node_said tc_node_said(struct tc_slice path, struct tc_slice bytes);

#endif

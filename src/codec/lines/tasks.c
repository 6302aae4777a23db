/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who the process is that a log is of, where its lines do not say: what the rest of the log tells.
 *
 * The tasks of a Slurm step are the ranks of the job where srun starts each process (SLURM_PROCID
 * is what programs take for their rank), and they are not where it starts one launcher per node,
 * which starts the ranks.
 */
#include "base/buf.h"
#include "base/limits.h"
#include "codec/lines/lines_priv.h"
#include "codec/match_priv.h"

#include <string.h>

#define S(literal) TC_LIT(literal)

/* What of a log is looked through: so much of its beginning and of its end. */
#define SEEN_MAX ((size_t)1 << 20)
/* Reports of srun that are looked at. */
#define REPORTS_MAX 256
/* Where a log says which node it is of. */
#define HOME_WITHIN ((size_t)8 << 10)
#define HOME_LINES 64

/* What cursor->own knows of a question. */
enum { UNKNOWN, NO, YES };

struct seen {
    bool launcher;  /* one that starts the ranks of its node */
    uint64_t tasks; /* of the step; 0 unknown */
    uint64_t world; /* ranks of the job; 0 unknown */
    uint64_t per_node;
    /* What srun says of tasks that ended. */
    struct tc_slice node; /* of the last report */
    bool several_nodes;
    bool several_on_one;
    bool beyond_first; /* another task than 0 */
};

/* The number behind the first of the words that has one; else what was known. */
static uint64_t number_behind(struct tc_slice text, const char *const *words, uint64_t known)
{
    for (; *words != NULL && known == 0; words++) {
        struct tc_slice word = tc_slice_cstr(*words);
        size_t at = tc_slice_find(text, word);
        if (at != TC_NPOS) {
            (void)tc_slice_u64(tc_slice_from(text, at + word.len), &known);
        }
    }
    return known;
}

static void see_reports(struct tc_slice text, struct seen *io)
{
    size_t at = 0;
    for (unsigned i = 0; i < REPORTS_MAX; i++) {
        struct tc_slice got[TC__TEXT_SLOTS];
        size_t step = tc_slice_find(tc_slice_from(text, at), S("srun: error: "));
        if (step == TC_NPOS) {
            return;
        }
        at += step + S("srun: error: ").len;
        struct tc_slice line = tc_slice_head(tc_slice_from(text, at), TC_SCOPE_TEXT_MAX);
        if (!tc__text_match(line, "{0%n}: task<{2s}|> {1%d}", got)) {
            continue;
        }
        bool same = tc_slice_eq(got[0], io->node);
        io->several_on_one |= got[2].len > 0 || same;
        io->several_nodes |= io->node.len > 0 && !same;
        io->beyond_first |= got[2].len > 0 || !tc_slice_eq(got[1], S("0"));
        io->node = got[0];
    }
}

static void see(struct tc_slice text, struct seen *io)
{
    static const char *const tasks[] = {"SLURM_NTASKS=", "SLURM_NPROCS=", "--ntasks=", NULL};
    static const char *const worlds[] = {
        "WORLD_SIZE=", "world_size=", "world_size: ", "world size: ", NULL};
    static const char *const per_node[] = {"SLURM_NTASKS_PER_NODE=", "--ntasks-per-node=", NULL};
    io->launcher |= tc_slice_contains_any(
        text, "torchrun", "torch/distributed/run.py", "torch.distributed.run",
        "torch/distributed/launch", "torch.distributed.launch", "elastic/multiprocessing/api",
        "elastic.multiprocessing.api", "elastic/agent", "elastic.agent", "accelerate launch",
        "accelerate/commands/launch", "deepspeed/launcher", "deepspeed.launcher",
        "[launch.py:", "torch/multiprocessing/spawn", "torch.multiprocessing.spawn", "horovodrun",
        "composer.cli", "ray start");
    io->tasks = number_behind(text, tasks, io->tasks);
    io->world = number_behind(text, worlds, io->world);
    io->per_node = number_behind(text, per_node, io->per_node);
    see_reports(text, io);
}

static bool are_ranks(struct tc_slice bytes)
{
    struct seen s = {0};
    see(tc_slice_head(bytes, SEEN_MAX), &s);
    if (bytes.len > SEEN_MAX) {
        size_t rest = bytes.len - SEEN_MAX;
        see(tc_slice_from(bytes, SEEN_MAX + (rest > SEEN_MAX ? rest - SEEN_MAX : 0)), &s);
    }
    if (s.launcher || (s.tasks > 0 && s.world > s.tasks)) {
        return false;
    }
    if (s.tasks > 0 && s.world == s.tasks) {
        return true;
    }
    /* One task on each of several nodes is a launcher that does not say its name. */
    return s.per_node != 1 && s.beyond_first && (s.several_on_one || !s.several_nodes);
}

bool tc__lines_tasks_are_ranks(struct tc__lines *w)
{
    uint64_t *known = &w->cursor->own[TC__LINES_OWN_TASKS];
    if (*known == UNKNOWN) {
        *known = are_ranks(w->in->bytes) ? YES : NO;
    }
    return *known == YES;
}

bool tc__lines_replicas_are_ranks(struct tc__lines *w, struct tc_slice container)
{
    uint64_t *known = &w->cursor->own[TC__LINES_OWN_REPLICAS];
    char name[TC_SCOPE_TEXT_MAX + 3];
    if (*known == UNKNOWN) {
        struct tc_buf b = tc_buf_make(name, sizeof name);
        size_t len = container.len < TC_SCOPE_TEXT_MAX ? container.len : TC_SCOPE_TEXT_MAX;
        while (len > 0 && tc_is_digit(container.ptr[len - 1])) {
            len--;
        }
        tc_buf_str(&b, tc_slice_head(container, len));
        tc_buf_str(&b, S("0 "));
        *known =
            tc_slice_contains(tc_slice_head(w->in->bytes, SEEN_MAX), tc_buf_slice(&b)) ? YES : NO;
    }
    return *known == YES;
}

/* A name as hosts have: "localhost" and placeholders are none. */
static bool is_host(struct tc_slice name)
{
    bool letter = false;
    bool other = false;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        letter = letter || (c | 0x20) >= 'a';
        other = other || tc_is_digit(c) || c == '-' || c == '.';
        if (!tc_is_word(c) && c != '-' && c != '.') {
            return false;
        }
    }
    return letter && other && name.len <= TC_SCOPE_TEXT_MAX &&
           !tc_slice_starts(name, S("localhost"));
}

/* The node that a line names as its own or the job's. *out_several: there is more than one. */
static struct tc_slice named_host(struct tc_slice line, bool *out_several)
{
    static const char *const nodes[] = {
        "*NODELIST<=\"|=|: |%s: >{0%p}",
        "*odeList<=|: |%s: >{0%p}",
        "*odelist<=|: |%s: >{0%p}",
        "*NODENAME<=|: >{0%p}",
        "*HOSTNAME<=|: >{0%p}",
        "*ostname<=|: |%s: >{0%p}",
        "<host|Host|HOST|node|Node|nodes|Nodes><=|:%s|%s:%s>{0%p}",
        "* host={0%p}",
        "* node={0%p}",
        "* Host: {0%p}",
        "* Node: {0%p}",
        "<# |#|>host<name|> {0%p}",
        "* on node {0%p}",
        "* on host {0%p}",
    };
    static const char *const counts[] = {
        "NNODES=", "NUM_NODES=", "nnodes=", "nnodes: ", "nnodes ", "num_nodes=", "num_nodes: "};
    struct tc_slice got[TC__TEXT_SLOTS];
    for (size_t i = 0; i < TC_COUNT(counts); i++) {
        size_t at = tc_slice_find(line, tc_slice_cstr(counts[i]));
        uint64_t count = 0;
        if (at != TC_NPOS &&
            tc_slice_u64(tc_slice_from(line, at + tc_slice_cstr(counts[i]).len), &count) > 0) {
            *out_several |= count > 1;
        }
    }
    for (size_t i = 0; i < TC_COUNT(nodes); i++) {
        if (!tc__text_match(line, nodes[i], got)) {
            continue;
        }
        struct tc_slice name = got[0];
        *out_several |= tc_slice_find_byte(name, '[') != TC_NPOS && !tc_slice_starts(name, S("["));
        *out_several |= tc_slice_find_byte(tc_slice_head(name, name.len - 1), ',') != TC_NPOS;
        while (name.len > 0 && memchr(",;.)]\"'", name.ptr[name.len - 1], 7) != NULL) {
            name.len--;
        }
        if (is_host(name)) {
            return name;
        }
    }
    return TC_EMPTY;
}

static struct tc_slice find_home(struct tc__lines *w)
{
    struct tc_slice head = tc_slice_head(w->in->bytes, HOME_WITHIN);
    struct tc_slice raw;
    struct tc_slice home = TC_EMPTY;
    bool several = false;
    size_t at = 0;
    for (unsigned i = 0; i < HOME_LINES && tc__line_cut(head, at, &raw, &at); i++) {
        /* What is indented is a configuration, and a host with a port is a server. */
        bool own = raw.len > 0 && raw.ptr[0] != ' ' && raw.ptr[0] != '\t' &&
                   !tc_slice_contains_any(raw, "port", "Port", "PORT", "aster", "MASTER");
        struct tc_slice name = own ? named_host(tc_slice_trim(raw), &several) : TC_EMPTY;
        several |= name.len > 0 && home.len > 0 && !tc_slice_starts(name, home) &&
                   !tc_slice_starts(home, name);
        home = home.len > 0 ? home : name;
    }
    return several && w->rank < 0 ? TC_EMPTY : home;
}

struct tc_slice tc__lines_home(struct tc__lines *w)
{
    uint64_t *from = &w->cursor->own[TC__LINES_OWN_HOME]; /* 1 more */
    uint64_t *length = &w->cursor->own[TC__LINES_OWN_HOME_LEN];
    if (*from == 0) {
        struct tc_slice home = find_home(w);
        *from = home.len == 0 ? 1 : (uint64_t)(home.ptr - w->in->bytes.ptr) + 1;
        *length = home.len;
    }
    return tc_slice_head(tc_slice_from(w->in->bytes, (size_t)*from - 1), (size_t)*length);
}

static int32_t find_rank(struct tc_slice head)
{
    static const char *const keys[] = {
        "RANK=", "RANK: ", "process_id=", "process_index=", "rank=", "rank: "};
    int32_t rank = -1;
    for (size_t i = 0; i < TC_COUNT(keys); i++) {
        struct tc_slice key = tc_slice_cstr(keys[i]);
        size_t at = 0;
        for (unsigned n = 0; n < REPORTS_MAX; n++) {
            size_t step = tc_slice_find(tc_slice_from(head, at), key);
            if (step == TC_NPOS) {
                break;
            }
            at += step + key.len;
            bool word = at > key.len && (tc_is_word(head.ptr[at - key.len - 1]));
            uint64_t value = 0;
            if (word || tc_slice_u64(tc_slice_from(head, at), &value) == 0) {
                continue;
            }
            if (value == 0 || value > TC_FR_RANK_MAX || (rank >= 0 && (uint64_t)rank != value)) {
                return -1;
            }
            rank = (int32_t)value;
        }
    }
    return rank;
}

int32_t tc__lines_own_rank(struct tc__lines *w)
{
    uint64_t *known = &w->cursor->own[TC__LINES_OWN_RANK]; /* 2 more */
    if (*known == 0) {
        *known = (uint64_t)(find_rank(tc_slice_head(w->in->bytes, HOME_WITHIN)) + 2);
    }
    return (int32_t)*known - 2;
}

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TC_CODEC_JOB_LOG_PRIV_H
#define TC_CODEC_JOB_LOG_PRIV_H

#include "codec/lines/lines_priv.h"
#include "codec/match_priv.h"

/* A message is kept up to here. */
#define JOB_MESSAGE_MAX 1024

/* cursor->own: lines that were looked at; where a test session that passed begins (1 more) and
 * ends, and whether one was looked for; whether the log speaks of ranks (0, 1 no, 2 yes). */
enum { JOB_OWN_LOOKS, JOB_OWN_TEST_FROM, JOB_OWN_TEST_TO, JOB_OWN_TEST_SEEN, JOB_OWN_RANKS };

/* Lines that may be looked at around one: fewer once a log has asked for more than its share, so
 * that the work stays linear in the log. */
unsigned tc__job_look(const struct tc__lines *w, unsigned wanted);
/* tc__line_below and tc__line_above, counted. */
bool tc__job_below(struct tc__lines *w, const struct tc__line *line, struct tc__line *out);
bool tc__job_above(struct tc__lines *w, const struct tc__line *line, struct tc__line *out);

/* ---- trace.c: the stacks of Python ---- */

/* Whether a text is the last line of a stack, which names the exception: "RuntimeError: ...". */
bool tc__job_exception(struct tc_slice text, struct tc_slice *out_class);
/* The same of a line that may have a name of its own, below its stack. */
bool tc__job_is_raised(struct tc__lines *w, const struct tc__line *line);
/* At a frame of a stack, `File "train.py", line 7, in main`: the event of the whole stack comes
 * with its last frame. */
TC_CHECKED tc_status tc__job_read_frame(struct tc__lines *w, const struct tc__line *line,
                                        bool *out_ours);

/* A stack in a member of a JSON object, all of it in one line. */
TC_CHECKED tc_status tc__job_read_json_stack(struct tc__lines *w, const struct tc__line *line,
                                             bool *out_ours);

/* ---- healthy.c ---- */

/* Whether a line tells of a step or of progress. */
bool tc__job_is_step(struct tc_slice text);
bool tc__job_is_progress(struct tc_slice text);

/* Whether a line was captured by a test session of pytest that passed. */
bool tc__job_is_tested(struct tc__lines *w, const struct tc__line *line);

/* Whether the beginning of a text is that of a training program's log. */
bool tc__job_is_healthy_log(struct tc_slice head);

/* ---- launch.c: the reports of launchers; process.c: what processes and their peers say ---- */

enum { SLOT_RANK, SLOT_PID, SLOT_NODE, SLOT_CODE, SLOT_SIGNAL, SLOT_REST };

/* A wording that says all, in this line and the few below that it may run on to. */
struct tc__job_report {
    const char *says;
    unsigned lines;
    bool first;     /* the launcher saw this process fail before the others */
    bool own;       /* the process itself says so */
    int64_t signal; /* that such a report means, where it names none; 0 */
};

/* A rank or a process in digits; -1. */
int32_t tc__job_rank(struct tc_slice digits);
int64_t tc__job_pid(struct tc_slice digits);

TC_CHECKED tc_status tc__job_read_exit(struct tc__lines *w, const struct tc__line *line,
                                       struct tc_slice after, const struct tc__job_report *report,
                                       bool *out_ours);
/* torchrun's table of failures, at its exit code. */
TC_CHECKED tc_status tc__job_read_table(struct tc__lines *w, const struct tc__line *line,
                                        struct tc_slice after, bool *out_ours);
/* The line of torchrun's agent; the table below says more, where there is one. */
TC_CHECKED tc_status tc__job_read_agent(struct tc__lines *w, const struct tc__line *line,
                                        struct tc_slice after, bool *out_ours);
/* "terminate called after throwing an instance of 'c10::Error'", of C++. */
TC_CHECKED tc_status tc__job_read_terminate(struct tc__lines *w, const struct tc__line *line,
                                            struct tc_slice after, bool *out_ours);
/* PyTorch's watchdog of NCCL ends its process: "... thread terminated with exception: ...". */
TC_CHECKED tc_status tc__job_read_watchdog(struct tc__lines *w, const struct tc__line *line,
                                           struct tc_slice after, bool *out_ours);
/* The coordination service of TensorFlow and JAX: "Task /job:worker/replica:0/task:1 died". */
TC_CHECKED tc_status tc__job_read_peer(struct tc__lines *w, const struct tc__line *line,
                                       bool *out_ours);
/* "trainer-3 exited with code 1" of docker compose. */
TC_CHECKED tc_status tc__job_read_replica(struct tc__lines *w, const struct tc__line *line,
                                          bool *out_ours);
/* A launcher says where a rank runs: "host=gpu-07 rank=9 local_rank=1 pid=4711". */
TC_CHECKED tc_status tc__job_read_place(struct tc__lines *w, const struct tc__line *line,
                                        bool *out_ours);
/* DeepSpeed says where all run: "{'gpu-07': [0, 1], 'gpu-08': [2, 3]}". */
TC_CHECKED tc_status tc__job_read_mapping(struct tc__lines *w, const struct tc__line *line,
                                          struct tc_slice after, bool *out_ours);
/* The host whose NCCL warned above the line, of the GPU that the rank has on its node; "". */
struct tc_slice tc__job_warned_host(struct tc__lines *w, const struct tc__line *line, int32_t rank);
/* A shell says which of its children died: "run.sh: line 28:  8156 Killed   python3 main.py". */
TC_CHECKED tc_status tc__job_read_shell(struct tc__lines *w, const struct tc__line *line,
                                        struct tc_slice after, bool *out_ours);

#endif

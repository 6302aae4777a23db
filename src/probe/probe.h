/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a machine is, from the outputs of its own tools: nvidia-smi in several forms, files of /proc
 * and /etc, and the texts that `tracecore probe` makes of /sys. An output is recognised by its
 * content. Each fact keeps the first value that was told. Pure: bytes in, facts out.
 */
#ifndef TC_PROBE_PROBE_H
#define TC_PROBE_PROBE_H

#include "base/buf.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TC_PROBE_GPUS_MAX 64
#define TC_PROBE_COLUMNS_MAX 192 /* GPUs and NICs of a topology */
#define TC_PROBE_TEXT_MAX 512
/* One captured output; more is cut. */
#define TC_PROBE_BYTES_MAX ((size_t)4 << 20)
#define TC_PROBE_JSON_MAX ((size_t)256 << 10)
/* First line of the texts that we make: this and the name of what follows. */
#define TC_PROBE_HEAD "# tracecore probe: "

enum tc_probe_fact {
    TC_PROBE_IMAGE,
    TC_PROBE_DRIVER,
    TC_PROBE_CUDA,        /* of the toolkit */
    TC_PROBE_CUDA_DRIVER, /* the newest that the driver can run */
    TC_PROBE_NCCL,
    TC_PROBE_FRAMEWORK,
    TC_PROBE_FRAMEWORK_VERSION,
    TC_PROBE_RUNTIME,
    TC_PROBE_RUNTIME_VERSION,
    TC_PROBE_SERVER,
    TC_PROBE_SERVER_VERSION,
    TC_PROBE_KERNEL,
    TC_PROBE_OS,
    TC_PROBE_FABRIC,   /* InfiniBand and RoCE adapters */
    TC_PROBE_ETHERNET, /* other adapters that are devices */
    TC_PROBE_PCIE,     /* links of the GPUs as /sys has them */
    TC_PROBE_NODES,    /* NUMA nodes */
    TC_PROBE_STORAGE,
    TC_PROBE_CPU,
    TC_PROBE_HOST,
    TC_PROBE_FACTS
};

struct tc_probe_gpu {
    char name[96];
    char uuid[48];
    char pci[24];
    int64_t memory_mib; /* 0: not known */
    int pcie_gen;       /* the most it can; 0: not known */
    int pcie_width;
    unsigned links;    /* NVLinks that are up */
    unsigned link_mbs; /* MB/s of one */
    bool has_links;    /* it was asked */
    bool is_cut;       /* the name ends in dots */
};

struct tc_probe {
    char facts[TC_PROBE_FACTS][TC_PROBE_TEXT_MAX];
    struct tc_probe_gpu gpus[TC_PROBE_GPUS_MAX];
    size_t gpu_count;
    /* The matrix of nvidia-smi topo: row by row, GPUs first. */
    char columns[TC_PROBE_COLUMNS_MAX][24];
    size_t column_count;
    size_t matrix_gpus; /* rows; 0: none */
    char cells[TC_PROBE_GPUS_MAX][TC_PROBE_COLUMNS_MAX][6];
    char numa[TC_PROBE_GPUS_MAX][8]; /* of each GPU; empty: not known */
    bool is_p2p;                     /* topo -p2p: what works, not how it is connected */
};

void tc_probe_init(struct tc_probe *p);
/* Adds what an output says. The name of what it is, or NULL when it is nothing that is known. */
const char *tc_probe_take(struct tc_probe *p, struct tc_slice bytes);

/* A file that was captured or could not be, for the list in probe.json. */
struct tc_probe_source {
    const char *name;  /* of the file, or of the tool */
    const char *what;  /* of tc_probe_take; NULL: not known, or not captured */
    const char *error; /* why there is none; NULL: it was captured */
    uint64_t bytes;
};
/* The columns of software_version_dim and hardware_topology_dim, null where unknown, and what they
 * were made from. captured_ns may be TC_TIME_NONE. */
void tc_probe_json(const struct tc_probe *p, const struct tc_probe_source *sources, size_t count,
                   int64_t captured_ns, struct tc_buf *out);

#endif

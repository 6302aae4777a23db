/* SPDX-License-Identifier: Apache-2.0 */
/* What facts about a GPU's memory add up to. */
#include "detect/hbm_ecc/priv.h"

static const struct {
    int32_t xid;
    enum ecc_kind kind;
} FACTS[] = {
#define ECC_FACT_ROW(name, xid, kind) [ECC_##name] = {xid, kind},
    ECC_FACT_MAP(ECC_FACT_ROW)
#undef ECC_FACT_ROW
};

int32_t tc__ecc_xid(enum ecc_fact_name name)
{
    return FACTS[name].xid;
}

enum ecc_fact_name tc__ecc_fact_of_xid(int64_t code)
{
    unsigned i = 0;
    while (i < ECC_XIDS && FACTS[i].xid != code) {
        i++;
    }
    return i < ECC_XIDS ? (enum ecc_fact_name)i : ECC_FACTS;
}

enum ecc_kind tc__ecc_fact_kind(enum ecc_fact_name name)
{
    return FACTS[name].kind;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

int64_t tc__ecc_xid_count(const struct ecc_fact *fact)
{
    return most(fact->lines, most(fact->gauged, fact->counted));
}

/* What the counters rose by. */
static int64_t counted(const struct ecc_incident *in)
{
    const struct ecc_fact *c = &in->facts[ECC_UNCORRECTED];
    return (int64_t)(c->amount > c->lifetime ? c->amount : c->lifetime);
}

int64_t tc__ecc_uncorrected(const struct ecc_incident *in)
{
    const struct ecc_fact *f = in->facts;
    /* 171 and 172 are details of a 48. */
    int64_t details = tc__ecc_xid_count(&f[ECC_XID_171]) + tc__ecc_xid_count(&f[ECC_XID_172]);
    int64_t xids = tc__ecc_xid_count(&f[ECC_XID_48]) + tc__ecc_xid_count(&f[ECC_XID_140]);
    /* All processes of a GPU meet the same error. */
    int64_t met = f[ECC_CUDA].lines > 0;
    return most(most(most(details, xids), counted(in)), met);
}

bool tc__ecc_is_named(const struct ecc_incident *in)
{
    return in->uuid.len > 0 || in->pci.known || in->index >= 0;
}

enum ecc_kind tc__ecc_kind(const struct ecc_incident *in, int64_t uncorrected_min)
{
    enum ecc_kind worst = ECC_NONE;
    bool enough = tc__ecc_uncorrected(in) >= uncorrected_min;
    /* Errors that were contained are counted with the others. */
    bool contained = tc__ecc_xid_count(&in->facts[ECC_XID_94]) >= counted(in);
    for (unsigned i = 0; i < ECC_CUDA; i++) {
        bool counts = in->facts[i].span.count > 0 &&
                      (enough || FACTS[i].kind != ECC_UNCORRECTABLE) &&
                      (!contained || i != ECC_UNCORRECTED);
        worst = counts && FACTS[i].kind > worst ? FACTS[i].kind : worst;
    }
    /* The driver and the counters know better what became of it than the process that died. */
    bool met = worst == ECC_NONE && enough && in->facts[ECC_CUDA].span.count > 0;
    return met ? FACTS[ECC_CUDA].kind : worst;
}

uint32_t tc__ecc_names(const struct tc_gpu *gpu)
{
    return (gpu->node.len > 0 ? ECC_NAMES_NODE : 0) | (gpu->uuid.len > 0 ? 2U : 0) |
           (gpu->pci.known ? 4U : 0) | (gpu->index >= 0 ? 8U : 0);
}

static struct ecc_part *part_at(struct ecc_storm *storm, size_t i)
{
    return &storm->parts[(storm->first + i) % (ECC_PARTS + 1)];
}

double tc__ecc_storm_add(struct ecc_storm *storm, int64_t window_ns, int64_t from_ns,
                         int64_t time_ns, double rise, bool lifetime)
{
    if (time_ns - from_ns > window_ns) {
        rise = rise * (double)window_ns / (double)(time_ns - from_ns);
        from_ns = time_ns - window_ns;
    }
    while (storm->count > 0 && part_at(storm, 0)->from_ns < time_ns - window_ns) {
        storm->first = (storm->first + 1) % (ECC_PARTS + 1);
        storm->count--;
    }
    /* The two counters tell of the same time; beginnings are at least a part of the window apart.
     */
    struct ecc_part *last = storm->count > 0 ? part_at(storm, storm->count - 1) : NULL;
    if (last == NULL ||
        (from_ns - last->from_ns >= window_ns / ECC_PARTS && storm->count <= ECC_PARTS)) {
        last = part_at(storm, storm->count++);
        *last = (struct ecc_part){.from_ns = from_ns};
    }
    last->from_ns = from_ns < last->from_ns ? from_ns : last->from_ns;
    last->errors += lifetime ? 0 : rise;
    last->lifetime += lifetime ? rise : 0;
    double errors = 0;
    double life = 0;
    for (size_t i = 0; i < storm->count; i++) {
        errors += part_at(storm, i)->errors;
        life += part_at(storm, i)->lifetime;
    }
    return errors > life ? errors : life;
}

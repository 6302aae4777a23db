/* SPDX-License-Identifier: Apache-2.0 */
#include "base/time.h"
#include "codec/match_priv.h"
#include "codec/nvidia_smi/priv.h"

#include <math.h>

#define METRIC(id) TC_METRIC_##id
#define ECC_COR METRIC(GPU_ECC_SBE)
#define ECC_UNC METRIC(GPU_ECC_DBE)
/* From the counters since the driver loaded to those since ever. */
#define TO_AGGREGATE (TC_METRIC_GPU_ECC_SBE_AGG - TC_METRIC_GPU_ECC_SBE)
#define NS_PER_US 1000
#define REASONS_MAX UINT32_MAX

_Static_assert(TC_METRIC_GPU_ECC_DBE_AGG - TC_METRIC_GPU_ECC_DBE == TO_AGGREGATE,
               "both counters have a lifetime one as far behind");

/* NVML's clock event reasons, by the names that they have behind "reason_" or "reasons.". */
#define REASON_ROWS(form, section, prefix)                                         \
    {form, section, prefix "gpu_idle", SMI_REASON, 0, 0x1},                        \
        {form, section, prefix "applications_clocks_setting", SMI_REASON, 0, 0x2}, \
        {form, section, prefix "sw_power_cap", SMI_REASON, 0, 0x4},                \
        {form, section, prefix "hw_slowdown", SMI_REASON, 0, 0x8},                 \
        {form, section, prefix "sync_boost", SMI_REASON, 0, 0x10},                 \
        {form, section, prefix "sw_thermal_slowdown", SMI_REASON, 0, 0x20},        \
        {form, section, prefix "hw_thermal_slowdown", SMI_REASON, 0, 0x40},        \
    {                                                                              \
        form, section, prefix "hw_power_brake_slowdown", SMI_REASON, 0, 0x80       \
    }

#define REASON_TEXT_ROWS(section)                                               \
    {SMI_TEXT, section, "Idle", SMI_REASON, 0, 0x1},                            \
        {SMI_TEXT, section, "Applications Clocks Setting", SMI_REASON, 0, 0x2}, \
        {SMI_TEXT, section, "SW Power Cap", SMI_REASON, 0, 0x4},                \
        {SMI_TEXT, section, "HW Slowdown", SMI_REASON, 0, 0x8},                 \
        {SMI_TEXT, section, "Sync Boost", SMI_REASON, 0, 0x10},                 \
        {SMI_TEXT, section, "SW Thermal Slowdown", SMI_REASON, 0, 0x20},        \
        {SMI_TEXT, section, "HW Thermal Slowdown", SMI_REASON, 0, 0x40},        \
    {                                                                           \
        SMI_TEXT, section, "HW Power Brake Slowdown", SMI_REASON, 0, 0x80       \
    }

#define ECC_XML_ROWS(section)                                                 \
    {SMI_XML, section, "sram_correctable", SMI_ECC, ECC_COR, 0},              \
        {SMI_XML, section, "sram_uncorrectable", SMI_ECC, ECC_UNC, 0},        \
        {SMI_XML, section, "sram_uncorrectable_parity", SMI_ECC, ECC_UNC, 0}, \
        {SMI_XML, section, "sram_uncorrectable_secded", SMI_ECC, ECC_UNC, 0}, \
        {SMI_XML, section, "dram_correctable", SMI_ECC, ECC_COR, 0},          \
    {                                                                         \
        SMI_XML, section, "dram_uncorrectable", SMI_ECC, ECC_UNC, 0           \
    }

static const struct smi_name NAMES[] = {
    /* -q, by heading and name */
    {SMI_TEXT, NULL, "Timestamp", SMI_TIME, 0, 0},
    {SMI_TEXT, NULL, "GPU UUID", SMI_UUID, 0, 0},
    {SMI_TEXT, NULL, "Bus Location", SMI_PCI, 0, 0},
    {SMI_TEXT, "PCI", "Bus Id", SMI_PCI, 0, 0},
    {SMI_TEXT, NULL, "Performance State", SMI_PSTATE, 0, 0},
    {SMI_TEXT, NULL, "GPU Recovery Action", SMI_RECOVERY, 0, 0},
    {SMI_TEXT, "GPU Reset Status", "Reset Required", SMI_RESET, 0, 0},
    {SMI_TEXT, "GPU Reset Status", "Drain and Reset Recommended", SMI_RESET, 0, 0},
    {SMI_TEXT, "Fabric", "Status", SMI_FABRIC, 0, 0},
    {SMI_TEXT, "PCIe Generation", "Max", SMI_NUMBER, METRIC(GPU_PCIE_GEN_MAX), 0},
    {SMI_TEXT, "PCIe Generation", "Current", SMI_NUMBER, METRIC(GPU_PCIE_GEN), 0},
    {SMI_TEXT, "Link Width", "Max", SMI_NUMBER, METRIC(GPU_PCIE_WIDTH_MAX), 0},
    {SMI_TEXT, "Link Width", "Current", SMI_NUMBER, METRIC(GPU_PCIE_WIDTH), 0},
    {SMI_TEXT, NULL, "Replays Since Reset", SMI_NUMBER, METRIC(GPU_PCIE_REPLAYS), 0},
    {SMI_TEXT, "Utilization", "GPU", SMI_NUMBER, METRIC(GPU_UTIL), 0},
    {SMI_TEXT, "Single Bit", "Total", SMI_ECC, ECC_COR, 0},
    {SMI_TEXT, "Double Bit", "Total", SMI_ECC, ECC_UNC, 0},
    {SMI_TEXT, NULL, "SRAM Correctable", SMI_ECC, ECC_COR, 0},
    {SMI_TEXT, NULL, "SRAM Uncorrectable", SMI_ECC, ECC_UNC, 0},
    {SMI_TEXT, NULL, "SRAM Uncorrectable Parity", SMI_ECC, ECC_UNC, 0},
    {SMI_TEXT, NULL, "SRAM Uncorrectable SEC-DED", SMI_ECC, ECC_UNC, 0},
    {SMI_TEXT, NULL, "DRAM Correctable", SMI_ECC, ECC_COR, 0},
    {SMI_TEXT, NULL, "DRAM Uncorrectable", SMI_ECC, ECC_UNC, 0},
    {SMI_TEXT, "Retired Pages", "Pending Page Blacklist", SMI_FLAG, METRIC(GPU_PAGES_PENDING), 0},
    {SMI_TEXT, "Retired Pages", "Pending", SMI_FLAG, METRIC(GPU_PAGES_PENDING), 0},
    {SMI_TEXT, "Remapped Rows", "Correctable Error", SMI_NUMBER, METRIC(GPU_ROWS_COR), 0},
    {SMI_TEXT, "Remapped Rows", "Uncorrectable Error", SMI_NUMBER, METRIC(GPU_ROWS_UNC), 0},
    {SMI_TEXT, "Remapped Rows", "Pending", SMI_FLAG, METRIC(GPU_ROW_PENDING), 0},
    {SMI_TEXT, "Remapped Rows", "Remapping Failure Occurred", SMI_FLAG, METRIC(GPU_ROW_FAILURE), 0},
    {SMI_TEXT, NULL, "GPU Current Temp", SMI_NUMBER, METRIC(GPU_TEMP), 0},
    {SMI_TEXT, NULL, "Memory Current Temp", SMI_NUMBER, METRIC(GPU_MEM_TEMP), 0},
    {SMI_TEXT, "Power Readings", "Power Draw", SMI_NUMBER, METRIC(GPU_POWER), 0},
    {SMI_TEXT, "GPU Power Readings", "Power Draw", SMI_NUMBER, METRIC(GPU_POWER), 0},
    {SMI_TEXT, "GPU Power Readings", "Average Power Draw", SMI_NUMBER, METRIC(GPU_POWER), 0},
    {SMI_TEXT, "GPU Power Readings", "Instantaneous Power Draw", SMI_NUMBER, METRIC(GPU_POWER), 0},
    {SMI_TEXT, "Clocks", "SM", SMI_NUMBER, METRIC(GPU_SM_CLOCK), 0},
    {SMI_TEXT, "Clocks Event Reasons Counters", "SW Thermal Slowdown", SMI_SUM,
     METRIC(GPU_THERMAL_VIOLATION), NS_PER_US},
    {SMI_TEXT, "Clocks Event Reasons Counters", "HW Thermal Slowdown", SMI_SUM,
     METRIC(GPU_THERMAL_VIOLATION), NS_PER_US},
    REASON_TEXT_ROWS("Clocks Throttle Reasons"),
    REASON_TEXT_ROWS("Clocks Event Reasons"),

    /* -q -x, by parent and element */
    {SMI_XML, "gpu", "uuid", SMI_UUID, 0, 0},
    {SMI_XML, "gpu", "performance_state", SMI_PSTATE, 0, 0},
    {SMI_XML, "gpu", "gpu_recovery_action", SMI_RECOVERY, 0, 0},
    {SMI_XML, "gpu_reset_status", "reset_required", SMI_RESET, 0, 0},
    {SMI_XML, "gpu_reset_status", "drain_and_reset_recommended", SMI_RESET, 0, 0},
    {SMI_XML, "fabric", "status", SMI_FABRIC, 0, 0},
    {SMI_XML, "pcie_gen", "max_link_gen", SMI_NUMBER, METRIC(GPU_PCIE_GEN_MAX), 0},
    {SMI_XML, "pcie_gen", "current_link_gen", SMI_NUMBER, METRIC(GPU_PCIE_GEN), 0},
    {SMI_XML, "link_widths", "max_link_width", SMI_NUMBER, METRIC(GPU_PCIE_WIDTH_MAX), 0},
    {SMI_XML, "link_widths", "current_link_width", SMI_NUMBER, METRIC(GPU_PCIE_WIDTH), 0},
    {SMI_XML, "pci", "replay_counter", SMI_NUMBER, METRIC(GPU_PCIE_REPLAYS), 0},
    {SMI_XML, "utilization", "gpu_util", SMI_NUMBER, METRIC(GPU_UTIL), 0},
    {SMI_XML, "single_bit", "total", SMI_ECC, ECC_COR, 0},
    {SMI_XML, "double_bit", "total", SMI_ECC, ECC_UNC, 0},
    ECC_XML_ROWS("volatile"),
    ECC_XML_ROWS("aggregate"),
    {SMI_XML, "retired_pages", "pending_retirement", SMI_FLAG, METRIC(GPU_PAGES_PENDING), 0},
    {SMI_XML, "retired_pages", "pending_blacklist", SMI_FLAG, METRIC(GPU_PAGES_PENDING), 0},
    {SMI_XML, "remapped_rows", "remapped_row_corr", SMI_NUMBER, METRIC(GPU_ROWS_COR), 0},
    {SMI_XML, "remapped_rows", "remapped_row_unc", SMI_NUMBER, METRIC(GPU_ROWS_UNC), 0},
    {SMI_XML, "remapped_rows", "remapped_row_pending", SMI_FLAG, METRIC(GPU_ROW_PENDING), 0},
    {SMI_XML, "remapped_rows", "remapped_row_failure", SMI_FLAG, METRIC(GPU_ROW_FAILURE), 0},
    {SMI_XML, "temperature", "gpu_temp", SMI_NUMBER, METRIC(GPU_TEMP), 0},
    {SMI_XML, "temperature", "memory_temp", SMI_NUMBER, METRIC(GPU_MEM_TEMP), 0},
    {SMI_XML, "power_readings", "power_draw", SMI_NUMBER, METRIC(GPU_POWER), 0},
    {SMI_XML, "gpu_power_readings", "power_draw", SMI_NUMBER, METRIC(GPU_POWER), 0},
    {SMI_XML, "gpu_power_readings", "average_power_draw", SMI_NUMBER, METRIC(GPU_POWER), 0},
    {SMI_XML, "gpu_power_readings", "instant_power_draw", SMI_NUMBER, METRIC(GPU_POWER), 0},
    {SMI_XML, "clocks", "sm_clock", SMI_NUMBER, METRIC(GPU_SM_CLOCK), 0},
    {SMI_XML, "clocks_event_reasons_counters", "clocks_event_reasons_counters_sw_therm_slowdown",
     SMI_SUM, METRIC(GPU_THERMAL_VIOLATION), NS_PER_US},
    {SMI_XML, "clocks_event_reasons_counters", "clocks_event_reasons_counters_hw_therm_slowdown",
     SMI_SUM, METRIC(GPU_THERMAL_VIOLATION), NS_PER_US},
    REASON_ROWS(SMI_XML, "clocks_throttle_reasons", "clocks_throttle_reason_"),
    REASON_ROWS(SMI_XML, "clocks_event_reasons", "clocks_event_reason_"),

    /* --query-gpu and --query-remapped-rows */
    {SMI_CSV, NULL, "timestamp", SMI_TIME, 0, 0},
    {SMI_CSV, NULL, "index", SMI_INDEX, 0, 0},
    {SMI_CSV, NULL, "uuid", SMI_UUID, 0, 0},
    {SMI_CSV, NULL, "gpu_uuid", SMI_UUID, 0, 0},
    {SMI_CSV, NULL, "pci.bus_id", SMI_PCI, 0, 0},
    {SMI_CSV, NULL, "gpu_bus_id", SMI_PCI, 0, 0},
    {SMI_CSV, NULL, "pstate", SMI_PSTATE, 0, 0},
    {SMI_CSV, NULL, "gpu_recovery_action", SMI_RECOVERY, 0, 0},
    {SMI_CSV, NULL, "reset_status.reset_required", SMI_RESET, 0, 0},
    {SMI_CSV, NULL, "reset_status.drain_and_reset_recommended", SMI_RESET, 0, 0},
    {SMI_CSV, NULL, "fabric.status", SMI_FABRIC, 0, 0},
    {SMI_CSV, NULL, "temperature.gpu", SMI_NUMBER, METRIC(GPU_TEMP), 0},
    {SMI_CSV, NULL, "temperature.memory", SMI_NUMBER, METRIC(GPU_MEM_TEMP), 0},
    {SMI_CSV, NULL, "utilization.gpu", SMI_NUMBER, METRIC(GPU_UTIL), 0},
    {SMI_CSV, NULL, "power.draw", SMI_NUMBER, METRIC(GPU_POWER), 0},
    {SMI_CSV, NULL, "power.draw.average", SMI_NUMBER, METRIC(GPU_POWER), 0},
    {SMI_CSV, NULL, "power.draw.instant", SMI_NUMBER, METRIC(GPU_POWER), 0},
    {SMI_CSV, NULL, "clocks.sm", SMI_NUMBER, METRIC(GPU_SM_CLOCK), 0},
    {SMI_CSV, NULL, "clocks.current.sm", SMI_NUMBER, METRIC(GPU_SM_CLOCK), 0},
    {SMI_CSV, NULL, "ecc.errors.corrected.volatile.total", SMI_NUMBER, ECC_COR, 0},
    {SMI_CSV, NULL, "ecc.errors.uncorrected.volatile.total", SMI_NUMBER, ECC_UNC, 0},
    {SMI_CSV, NULL, "ecc.errors.corrected.aggregate.total", SMI_NUMBER, METRIC(GPU_ECC_SBE_AGG), 0},
    {SMI_CSV, NULL, "ecc.errors.uncorrected.aggregate.total", SMI_NUMBER, METRIC(GPU_ECC_DBE_AGG),
     0},
    {SMI_CSV, NULL, "remapped_rows.correctable", SMI_NUMBER, METRIC(GPU_ROWS_COR), 0},
    {SMI_CSV, NULL, "remapped_rows.uncorrectable", SMI_NUMBER, METRIC(GPU_ROWS_UNC), 0},
    {SMI_CSV, NULL, "remapped_rows.pending", SMI_FLAG, METRIC(GPU_ROW_PENDING), 0},
    {SMI_CSV, NULL, "remapped_rows.failure", SMI_FLAG, METRIC(GPU_ROW_FAILURE), 0},
    {SMI_CSV, NULL, "retired_pages.pending", SMI_FLAG, METRIC(GPU_PAGES_PENDING), 0},
    {SMI_CSV, NULL, "pcie.link.gen.current", SMI_NUMBER, METRIC(GPU_PCIE_GEN), 0},
    {SMI_CSV, NULL, "pcie.link.gen.gpucurrent", SMI_NUMBER, METRIC(GPU_PCIE_GEN), 0},
    {SMI_CSV, NULL, "pcie.link.gen.max", SMI_NUMBER, METRIC(GPU_PCIE_GEN_MAX), 0},
    {SMI_CSV, NULL, "pcie.link.width.current", SMI_NUMBER, METRIC(GPU_PCIE_WIDTH), 0},
    {SMI_CSV, NULL, "pcie.link.width.max", SMI_NUMBER, METRIC(GPU_PCIE_WIDTH_MAX), 0},
    {SMI_CSV, NULL, "clocks_throttle_reasons.active", SMI_HEX, METRIC(GPU_THROTTLE), 0},
    {SMI_CSV, NULL, "clocks_event_reasons.active", SMI_HEX, METRIC(GPU_THROTTLE), 0},
    REASON_ROWS(SMI_CSV, NULL, "clocks_throttle_reasons."),
    REASON_ROWS(SMI_CSV, NULL, "clocks_event_reasons."),

    /* dmon */
    {SMI_DMON, NULL, "gpu", SMI_INDEX, 0, 0},
    {SMI_DMON, NULL, "pwr", SMI_NUMBER, METRIC(GPU_POWER), 0},
    {SMI_DMON, NULL, "gtemp", SMI_NUMBER, METRIC(GPU_TEMP), 0},
    {SMI_DMON, NULL, "temp", SMI_NUMBER, METRIC(GPU_TEMP), 0},
    {SMI_DMON, NULL, "mtemp", SMI_NUMBER, METRIC(GPU_MEM_TEMP), 0},
    {SMI_DMON, NULL, "sm", SMI_NUMBER, METRIC(GPU_UTIL), 0},
    {SMI_DMON, NULL, "pclk", SMI_NUMBER, METRIC(GPU_SM_CLOCK), 0},
    {SMI_DMON, NULL, "sbecc", SMI_NUMBER, ECC_COR, 0},
    {SMI_DMON, NULL, "dbecc", SMI_NUMBER, ECC_UNC, 0},
    {SMI_DMON, NULL, "pci", SMI_NUMBER, METRIC(GPU_PCIE_REPLAYS), 0},
};

const struct smi_name *tc__smi_name(enum smi_form form, struct tc_slice section,
                                    struct tc_slice name)
{
    for (size_t i = 0; i < TC_COUNT(NAMES); i++) {
        const struct smi_name *n = &NAMES[i];
        if (n->form == form && tc_slice_eq_nocase(name, tc_slice_cstr(n->name)) &&
            (n->section == NULL || tc_slice_eq_nocase(section, tc_slice_cstr(n->section)))) {
            return n;
        }
    }
    return NULL;
}

bool tc__smi_note_error(struct smi_gpu *g, struct tc_slice text, struct tc_slice raw)
{
    bool lost = tc_slice_contains(text, TC_LIT("GPU is lost"));
    if (!lost && !tc_slice_contains(text, TC_LIT("Unknown Error")) &&
        !tc_slice_contains(text, TC_LIT("ERR!"))) {
        return false;
    }
    g->errors++;
    g->lost = g->lost || lost;
    g->error_raw = g->error_raw.len == 0 ? raw : g->error_raw;
    return true;
}

void tc__smi_set_metric(struct smi_gpu *g, enum tc_metric metric, double value, struct tc_slice raw)
{
    struct smi_value *v = &g->metrics[metric];
    if (!v->known && isfinite(value) && value >= 0) {
        *v = (struct smi_value){.value = value, .raw = raw, .known = true};
    }
}

/* Several values that count together; the line with the first that is not zero is the evidence. */
static void add_metric(struct smi_gpu *g, enum tc_metric metric, double value, struct tc_slice raw)
{
    struct smi_value *v = &g->metrics[metric];
    if (!v->known) {
        tc__smi_set_metric(g, metric, value, raw);
    } else if (value > 0 && isfinite(v->value + value)) {
        v->raw = v->value > 0 ? v->raw : raw;
        v->value += value;
    }
}

static void set_finding(struct smi_gpu *g, struct tc_slice system, bool fails, struct tc_slice raw)
{
    if (g->finding.len == 0) {
        g->finding = tc_slice_trim(raw);
        g->finding_raw = raw;
        g->finding_system = system;
        g->finding_fails = fails;
    }
}

static bool is_none(struct tc_slice text)
{
    return text.len == 0 || tc_slice_contains(text, TC_LIT("N/A")) ||
           tc_slice_contains(text, TC_LIT("Not Supported")) || tc_slice_eq(text, TC_LIT("-")) ||
           tc_slice_eq(text, TC_LIT("None"));
}

/* "88,12 W" of a spreadsheet in German; others have no comma in a number. */
static bool number_of(struct tc_slice text, double *out)
{
    uint64_t cents = 0;
    size_t used = tc__text_number(text, out);
    struct tc_slice rest = tc_slice_from(text, used);
    if (used > 0 && tc_slice_starts(rest, TC_LIT(",")) && rest.len >= 3 &&
        tc_slice_u64(tc_slice_make(rest.ptr + 1, 2), &cents) == 2) {
        *out += (double)cents / 100;
    }
    return used > 0;
}

static void set_own(const struct tc_codec_input *in, struct smi_gpu *g, const struct smi_name *name,
                    struct tc_slice text, struct tc_slice raw)
{
    uint64_t number = 0;
    switch (name->field) {
    case SMI_INDEX:
        g->index = tc_slice_is_u64(text, &number) && number < 4096 ? (int32_t)number : g->index;
        break;
    case SMI_UUID:
        g->uuid =
            tc_slice_starts(text, TC_LIT("GPU-")) && text.len <= TC_SCOPE_TEXT_MAX ? text : g->uuid;
        break;
    case SMI_PCI:
        if (!g->pci.known && tc_bdf_parse(text, &g->pci) != text.len) {
            g->pci = (struct tc_bdf){0};
        }
        break;
    case SMI_TIME: {
        int64_t ns = tc__line_date(in, text);
        g->time_ns = ns == TC_TIME_NONE ? g->time_ns : ns;
        break;
    }
    case SMI_PSTATE:
        if (text.len >= 2 && text.ptr[0] == 'P' &&
            tc_slice_is_u64(tc_slice_from(text, 1), &number) && number < 32) {
            g->pstate = (int)number;
        }
        break;
    case SMI_RECOVERY:
        set_finding(g, TC_LIT("driver"), !tc_slice_starts(text, TC_LIT("Drain P2P")), raw);
        break;
    case SMI_RESET:
        if (tc_slice_eq_nocase(text, TC_LIT("Yes"))) {
            set_finding(g, TC_LIT("driver"), true, raw);
        }
        break;
    case SMI_FABRIC:
        if (!tc_slice_eq_nocase(text, TC_LIT("Success"))) {
            set_finding(g, TC_LIT("nvlink"), true, raw);
        }
        break;
    default:
        break;
    }
}

void tc__smi_set(const struct tc_codec_input *in, struct smi_gpu *g, const struct smi_name *name,
                 struct tc_slice text, struct tc_slice raw)
{
    double value = 0;
    uint64_t bits = 0;
    enum tc_metric metric = (enum tc_metric)name->metric;
    double scale = name->scale > 0 ? name->scale : 1;
    text = tc_slice_trim(text);
    if (tc__smi_note_error(g, text, raw) || is_none(text)) {
        return;
    }
    switch (name->field) {
    case SMI_NUMBER:
        if (number_of(text, &value)) {
            tc__smi_set_metric(g, metric, value * scale, raw);
        }
        break;
    case SMI_ECC:
        metric = (enum tc_metric)(metric + (g->aggregate ? TO_AGGREGATE : 0));
        __attribute__((fallthrough));
    case SMI_SUM:
        if (number_of(text, &value)) {
            add_metric(g, metric, value * scale, raw);
        }
        break;
    case SMI_HEX:
        if (tc_slice_starts(text, TC_LIT("0x")) &&
            tc_slice_hex(tc_slice_from(text, 2), &bits) > 0 && bits <= REASONS_MAX) {
            tc__smi_set_metric(g, metric, (double)bits, raw);
        }
        break;
    case SMI_REASON: {
        bool on = tc_slice_eq(text, TC_LIT("Active"));
        struct smi_value *v = &g->metrics[TC_METRIC_GPU_THROTTLE];
        if (on || tc_slice_eq(text, TC_LIT("Not Active"))) {
            tc__smi_set_metric(g, TC_METRIC_GPU_THROTTLE, 0, raw);
            bits = on ? (uint64_t)name->scale : 0;
            v->raw = v->value == 0 && on ? raw : v->raw;
            v->value = (double)((uint64_t)v->value | bits);
        }
        break;
    }
    case SMI_FLAG:
        if (tc_slice_eq_nocase(text, TC_LIT("Yes")) || tc_slice_eq_nocase(text, TC_LIT("No"))) {
            tc__smi_set_metric(g, metric, text.len == 3, raw);
        } else if (number_of(text, &value)) {
            tc__smi_set_metric(g, metric, value > 0, raw);
        }
        break;
    default:
        set_own(in, g, name, text, raw);
        break;
    }
}

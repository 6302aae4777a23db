/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may stand before a bracket in a query that is not ours. DuckDB looks at an interrupt, and at
 * its memory limit, between vectors only: a function that runs long or makes much out of one value
 * is beyond both. So those are listed that do neither; the rest, and what is new in a later DuckDB,
 * is refused. Missing on purpose, beside all that touch files, settings or the process: distances
 * of texts, repeat, lpad, rpad, format, printf, bar, replace, list_resize, list_reduce, bitstring.
 * docs/sql.md has this list for people.
 */
#include "warehouse/duckdb/sql_priv.h"

/* Separated by blanks. */
static const char CALLABLE[] =
    /* Words of SQL, and types with arguments. */
    "all and any as bernoulli between bpchar by case cast char character coalesce columns cube "
    "dec decimal describe distinct else except explain error exclude exists extract filter from "
    "group grouping having ilike in interval intersect is join lateral like limit not nullif "
    "numeric offset on or over overlaps pivot qualify reservoir rollup row select sets some "
    "summarize system table then materialized try_cast try union unpivot using values varchar "
    "when where window key timestamp positional "
    /* Aggregates and window functions. */
    "any_value approx_count_distinct approx_quantile arg_max arg_max_null arg_min arg_min_null "
    "argmax argmin array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count count_if "
    "count_star countif covar_pop covar_samp cume_dist dense_rank entropy favg first first_value "
    "fsum geometric_mean geomean group_concat histogram kahan_sum kurtosis kurtosis_pop lag last "
    "last_value lead list listagg mad max max_by mean median min min_by mode nth_value ntile "
    "percent_rank percentile_cont percentile_disc product quantile quantile_cont quantile_disc "
    "rank rank_dense regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx "
    "regr_sxy regr_syy row_number sem skewness stddev stddev_pop stddev_samp string_agg sum "
    "sum_no_overflow sumkahan var_pop var_samp variance "
    /* Of numbers. */
    "abs acos acosh add asin asinh atan atan2 atanh bit_count cbrt ceil ceiling cos cosh cot "
    "degrees divide equi_width_bins even exp fdiv floor fmod gamma gcd greatest hash if ifnull "
    "isfinite isinf isnan lcm least lgamma ln log log10 log2 mod multiply nextafter pi pow power "
    "radians random round round_even roundbankers sign signbit sin sinh sqrt subtract tan tanh "
    "trunc typeof uuid width_bucket xor "
    /* Of times. */
    "age century current_date current_time current_timestamp date date_add date_diff date_part "
    "date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek "
    "dayofyear decade epoch epoch_ms epoch_ns epoch_us era hour isodow isoyear julian last_day "
    "make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns make_timestamptz "
    "microsecond millennium millisecond minute month monthname nanosecond now quarter second "
    "strftime strptime time_bucket timezone to_days to_hours to_microseconds to_milliseconds "
    "to_minutes to_months to_seconds to_timestamp to_weeks to_years today try_strptime week "
    "weekday weekofyear year yearweek "
    /* Of texts. */
    "ascii base64 bit_length char_length character_length chr concat concat_ws contains ends_with "
    "format_bytes formatreadabledecimalsize formatreadablesize hex instr lcase left len length "
    "lower ltrim md5 octet_length ord parse_dirname parse_filename parse_path position prefix "
    "regexp_extract regexp_extract_all regexp_full_match regexp_matches regexp_split_to_array "
    "reverse right rtrim sha1 sha256 split split_part starts_with str_split string_split "
    "string_split_regex string_to_array strip_accents strlen strpos substr substring suffix "
    "to_base64 to_hex translate trim ucase unhex unicode upper "
    /* Of lists and structs. */
    "array_contains array_extract array_length array_slice array_to_string cardinality element_at "
    "json_array_length json_exists json_extract json_extract_path json_extract_path_text "
    "json_extract_string json_keys json_type json_valid json_value list_aggregate list_any_value "
    "list_avg list_contains list_count list_distinct list_element list_extract list_filter "
    "list_first list_has list_has_all list_has_any list_last list_max list_median list_min "
    "list_position list_reverse list_reverse_sort list_slice list_sort list_sum list_unique "
    "list_value map_contains map_entries map_extract map_keys map_values struct_extract "
    "struct_pack unnest "
    /* What tells of the database. */
    "duckdb_columns duckdb_constraints duckdb_databases duckdb_functions duckdb_indexes "
    "duckdb_keywords duckdb_memory duckdb_schemas duckdb_settings duckdb_tables duckdb_types "
    "duckdb_views pragma_database_size pragma_storage_info pragma_table_info pragma_version "
    "version ";

/* Tables of numbers. As a value, a list of them all, they are not allowed. */
static const char SERIES[] = "generate_series range";

static bool is_in(struct tc_slice name, struct tc_slice words)
{
    while (words.len > 0) {
        if (tc_slice_eq_nocase(name, tc_slice_cut(words, ' ', &words))) {
            return true;
        }
    }
    return false;
}

bool tc__sql_may_call(struct tc_slice name)
{
    return is_in(name, TC_LIT(CALLABLE));
}

bool tc__sql_is_series(struct tc_slice name)
{
    return is_in(name, TC_LIT(SERIES));
}

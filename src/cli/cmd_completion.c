/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell completions, made from the same tables as the parser and --help. The
 * files in completions/ are this command's output; a test compares them.
 */
#include "base/buf.h"
#include "base/format.h"
#include "cli/command.h"
#include "cli/output/say.h"

#include <string.h>
#include <unistd.h>

static void put(struct tc_output *out, const char *text)
{
    (void)tc_output_put(out, tc_slice_cstr(text));
}

/* ---- what all shells are given, as arguments of formats ---- */

static void write_words(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_command *const *all = arg->object;
    for (size_t i = 0; i < arg->count; i++) {
        (void)tc_format(b, "{}{}", i > 0 || arg->limit > 0 ? " " : "", all[i]->name);
    }
}

/* With a blank before each, or between them only. */
static struct tc_arg command_names(bool blank_first)
{
    size_t count = 0;
    const struct tc_command *const *all = tc_commands(&count);
    return (struct tc_arg){
        .write = write_words, .object = all, .count = count, .limit = blank_first ? 1 : 0};
}

/* The choices for the first argument. */
static struct tc_arg words_of(const struct tc_command *c)
{
    return strcmp(c->words, TC_WORDS_COMMANDS) == 0 ? command_names(true) : tc_arg_cstr(c->words);
}

static void write_values(struct tc_buf *b, const struct tc_arg *arg)
{
    const struct tc_option *o = arg->object;
    tc_option_values(b, o->values, TC_LIT(" "));
}

static struct tc_arg values_of(const struct tc_option *o)
{
    return tc_as_written(write_values, o);
}

/* ---- bash ---- */

static void bash_value(struct tc_output *out, const struct tc_option *o)
{
    struct tc_slice letter = tc_slice_make(&o->letter, o->letter != '\0' ? 1 : 0);
    (void)tc_output_format(out, "        --{}{}{})\n", o->name, letter.len > 0 ? " | -" : "",
                           letter);
    if (o->values != TC_VALUES_ANY) {
        (void)tc_output_format(out, "            _tracecore_words \"{}\"\n", values_of(o));
    }
    put(out, "            return\n            ;;\n");
}

static void bash_command(struct tc_output *out, const struct tc_command *c)
{
    bool has_values = false;
    (void)tc_output_format(out, "    {})\n", c->name);
    for (size_t i = 0; i < tc_command_option_count(c); i++) {
        if (tc_command_option(c, i)->argument != NULL) {
            put(out, has_values ? "" : "        case $prev in\n");
            has_values = true;
            bash_value(out, tc_command_option(c, i));
        }
    }
    put(out, has_values ? "        esac\n" : "");
    put(out, "        if [[ $cur == -* ]]; then\n            _tracecore_words \"");
    for (size_t i = 0; i < tc_command_option_count(c); i++) {
        (void)tc_output_format(out, "--{} ", tc_command_option(c, i)->name);
    }
    put(out, "--help\"\n");
    if (c->words != NULL) {
        (void)tc_output_format(out,
                               "        elif ((COMP_CWORD == 2)); then\n"
                               "            _tracecore_words \"{}\"\n",
                               words_of(c));
    }
    put(out, "        fi\n        ;;\n");
}

static void bash(struct tc_output *out)
{
    put(out, "# SPDX-License-Identifier: Apache-2.0\n"
             "# shellcheck shell=bash\n"
             "# Completion for bash, made by 'tracecore completion bash'. To use it:\n"
             "#   source <(tracecore completion bash)\n"
             "\n"
             "_tracecore_words() {\n"
             "    mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\")\n"
             "}\n"
             "\n"
             "_tracecore() {\n"
             "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}\n"
             "    COMPREPLY=()\n"
             "    # '--option=value' comes as three words.\n"
             "    if [[ $cur == '=' ]]; then\n"
             "        cur=\n"
             "    elif [[ $prev == '=' ]]; then\n"
             "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
             "    fi\n"
             "    if ((COMP_CWORD == 1)); then\n"
             "        _tracecore_words \"");
    (void)tc_output_format(out,
                           "{} --help --version\"\n        return\n    fi\n"
                           "    case ${COMP_WORDS[1]} in\n",
                           command_names(false));
    size_t count = 0;
    const struct tc_command *const *all = tc_commands(&count);
    for (size_t i = 0; i < count; i++) {
        bash_command(out, all[i]);
    }
    put(out, "    esac\n"
             "}\n"
             "\n"
             "# What is not completed here is a file.\n"
             "complete -o bashdefault -o default -F _tracecore tracecore\n");
}

/* ---- zsh ---- */

static void write_quoted(struct tc_buf *b, const struct tc_arg *arg)
{
    for (size_t i = 0; i < arg->text.len; i++) {
        char c = arg->text.ptr[i];
        if (c == '\'') {
            tc_buf_lit(b, "'\\''");
        } else {
            if (c == '[' || c == ']' || c == ':' || c == '\\') {
                tc_buf_char(b, '\\');
            }
            tc_buf_char(b, c);
        }
    }
}

/* Inside single quotes and square brackets of an _arguments specification. */
static struct tc_arg quoted(struct tc_slice text)
{
    return (struct tc_arg){.write = write_quoted, .text = text};
}

/* The first sentence of a help text, without its full stop. */
static struct tc_slice first_sentence(const char *help)
{
    struct tc_slice s = tc_slice_cstr(help);
    size_t end = tc_slice_find(s, TC_LIT(". "));
    s = end == TC_NPOS ? s : tc_slice_head(s, end);
    return tc_slice_ends(s, TC_LIT(".")) ? tc_slice_head(s, s.len - 1) : s;
}

/* '*--set=[help]:PATTERN.KEY=VALUE:(words)'; the star lets it be repeated. */
static void zsh_option(struct tc_output *out, const struct tc_option *o, bool is_short)
{
    bool takes = o->argument != NULL;
    struct tc_slice name = is_short ? tc_slice_make(&o->letter, 1) : tc_slice_cstr(o->name);
    (void)tc_output_format(out, "            '{}{}{}{}[{}]", takes ? "*" : "",
                           is_short ? "-" : "--", name,
                           !takes     ? ""
                           : is_short ? "+"
                                      : "=",
                           quoted(first_sentence(o->help)));
    if (takes) {
        (void)tc_output_format(out, ":{}:{}{}", quoted(tc_slice_cstr(o->argument)),
                               tc_when(o->values != TC_VALUES_ANY, "({})", values_of(o)),
                               strcmp(o->argument, "FILE") == 0 ? "_files" : "");
    }
    put(out, "' \\\n");
}

static void zsh_command(struct tc_output *out, const struct tc_command *c)
{
    (void)tc_output_format(out, "    {})\n        _arguments -s \\\n", c->name);
    for (size_t i = 0; i < tc_command_option_count(c); i++) {
        const struct tc_option *o = tc_command_option(c, i);
        zsh_option(out, o, false);
        if (o->letter != '\0') {
            zsh_option(out, o, true);
        }
    }
    if (c->words != NULL) {
        (void)tc_output_format(out, "            '1:what:({})' \\\n", words_of(c));
    }
    put(out, "            '(- *)'{-h,--help}'[How to use it]' \\\n"
             "            '*:file:_files'\n"
             "        ;;\n");
}

static void zsh(struct tc_output *out)
{
    put(out, "#compdef tracecore\n"
             "# SPDX-License-Identifier: Apache-2.0\n"
             "# Completion for zsh, made by 'tracecore completion zsh'. To use it, put it into a\n"
             "# directory of $fpath under the name _tracecore.\n"
             "\n"
             "_tracecore() {\n"
             "    local -a commands\n"
             "    commands=(\n");
    size_t count = 0;
    const struct tc_command *const *all = tc_commands(&count);
    for (size_t i = 0; i < count; i++) {
        (void)tc_output_format(out, "        '{}:{}'\n", all[i]->name,
                               quoted(tc_slice_cstr(all[i]->summary)));
    }
    put(out, "    )\n"
             "    if ((CURRENT == 2)); then\n"
             "        _describe command commands\n"
             "        _arguments '--help[How to use it]' '--version[Which version this is]'\n"
             "        return\n"
             "    fi\n"
             "    local command=$words[2]\n"
             "    shift words\n"
             "    ((CURRENT--))\n"
             "    case $command in\n");
    for (size_t i = 0; i < count; i++) {
        zsh_command(out, all[i]);
    }
    put(out, "    esac\n"
             "}\n"
             "\n"
             "_tracecore \"$@\"\n");
}

/* ---- fish ---- */

static void write_fish_quoted(struct tc_buf *b, const struct tc_arg *arg)
{
    for (size_t i = 0; i < arg->text.len; i++) {
        char c = arg->text.ptr[i];
        if (c == '\'' || c == '\\') {
            tc_buf_char(b, '\\');
        }
        tc_buf_char(b, c);
    }
}

/* Inside single quotes. */
static struct tc_arg fish_quoted(struct tc_slice text)
{
    return (struct tc_arg){.write = write_fish_quoted, .text = text};
}

static void fish_option(struct tc_output *out, const struct tc_command *c,
                        const struct tc_option *o)
{
    bool takes = o->argument != NULL;
    bool is_file = takes && o->values == TC_VALUES_ANY;
    struct tc_slice letter = tc_slice_make(&o->letter, o->letter != '\0' ? 1 : 0);
    (void)tc_output_format(out, "complete -c tracecore -n '__fish_seen_subcommand_from {}' -l {}",
                           c->name, o->name);
    (void)tc_output_format(out, "{}{}{}{}", letter.len > 0 ? " -s " : "", letter,
                           !takes    ? ""
                           : is_file ? " -r -F"
                                     : " -x",
                           tc_when(takes && !is_file, " -a '{}'", values_of(o)));
    (void)tc_output_format(out, " -d '{}'\n", fish_quoted(first_sentence(o->help)));
}

static void fish_command(struct tc_output *out, const struct tc_command *c)
{
    if (c->words != NULL) {
        (void)tc_output_format(out,
                               "complete -c tracecore -f -n '__fish_seen_subcommand_from {}; and "
                               "test (count (commandline -opc)) -eq 2' -a '{}'\n",
                               c->name, words_of(c));
    }
    for (size_t i = 0; i < tc_command_option_count(c); i++) {
        fish_option(out, c, tc_command_option(c, i));
    }
}

static void fish(struct tc_output *out)
{
    put(out, "# SPDX-License-Identifier: Apache-2.0\n"
             "# Completion for fish, made by 'tracecore completion fish'. To use it:\n"
             "#   tracecore completion fish > ~/.config/fish/completions/tracecore.fish\n"
             "\n"
             "complete -c tracecore -s h -l help -d 'How to use it'\n"
             "complete -c tracecore -n __fish_use_subcommand -l version -d 'Which version this "
             "is'\n");
    size_t count = 0;
    const struct tc_command *const *all = tc_commands(&count);
    for (size_t i = 0; i < count; i++) {
        (void)tc_output_format(out,
                               "complete -c tracecore -f -n __fish_use_subcommand -a {} -d '{}'\n",
                               all[i]->name, fish_quoted(tc_slice_cstr(all[i]->summary)));
    }
    for (size_t i = 0; i < count; i++) {
        fish_command(out, all[i]);
    }
}

static const struct shell {
    const char *name;
    void (*write)(struct tc_output *out);
} SHELLS[] = {{"bash", bash}, {"zsh", zsh}, {"fish", fish}};

static int run(int argc, char **argv)
{
    int code = tc_options_read(&tc_command_completion, argc, argv, NULL);
    if (code != TC_GO_ON) {
        return code;
    }
    size_t at = TC_COUNT(SHELLS);
    if (argc - optind == 1) {
        at = tc_slice_row(tc_slice_cstr(argv[optind]), SHELLS, name);
    }
    if (at == TC_COUNT(SHELLS)) {
        return tc_refuse("completion", "for which shell? tracecore completion bash, zsh or fish");
    }
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    SHELLS[at].write(&out);
    return tc_output_end(&out, "completion", TC_EXIT_OK);
}

const struct tc_command tc_command_completion = {
    .name = "completion",
    .summary = "print the completion script of a shell",
    .usage = "usage: tracecore completion bash|zsh|fish\n"
             "\n"
             "Prints the script that completes commands, options and their values.\n",
    .notes = "Examples:\n"
             "  source <(tracecore completion bash)\n"
             "  tracecore completion zsh > ~/.zfunc/_tracecore\n"
             "  tracecore completion fish > ~/.config/fish/completions/tracecore.fish\n",
    .words = "bash zsh fish",
    .run = run,
};

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shell completions, made from the same tables as the parser and --help. The
 * files in completions/ are this command's output; a test compares them.
 */
#include "base/buf.h"
#include "base/format.h"
#include "cli/command.h"
#include "cli/say.h"

#include <string.h>
#include <unistd.h>

/* One option, or the list of a command's options. */
#define TEXT_MAX 4096

static void put(struct tc_output *out, const char *text)
{
    (void)tc_output_put(out, tc_slice_cstr(text));
}

static void put_buf(struct tc_output *out, const struct tc_buf *b)
{
    (void)tc_output_put(out, tc_buf_slice(b));
}

static void put_name(struct tc_buf *b, const char *name)
{
    (void)tc_format(b, "{}{}", b->len > 0 ? " " : "", name);
}

static void put_commands(struct tc_buf *b)
{
    size_t count = 0;
    const struct tc_command *const *all = tc_commands(&count);
    for (size_t i = 0; i < count; i++) {
        put_name(b, all[i]->name);
    }
}

static void put_words(struct tc_buf *b, const char *words)
{
    if (strcmp(words, TC_WORDS_COMMANDS) == 0) {
        put_commands(b);
    } else {
        tc_buf_str(b, tc_slice_cstr(words));
    }
}

static void bash_value(struct tc_output *out, const struct tc_option *o)
{
    char text[TEXT_MAX];
    char words_text[TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_buf words = tc_buf_make(words_text, sizeof words_text);
    tc_option_values(&words, o->values, TC_LIT(" "));
    (void)tc_format(&b, "        --{}", o->name);
    if (o->letter != '\0') {
        tc_buf_lit(&b, " | -");
        tc_buf_char(&b, o->letter);
    }
    tc_buf_lit(&b, ")\n");
    if (words.len > 0) {
        (void)tc_format(&b, "            _tracecore_words \"{}\"\n", tc_buf_slice(&words));
    }
    tc_buf_lit(&b, "            return\n            ;;\n");
    put_buf(out, &b);
}

static void bash_command(struct tc_output *out, const struct tc_command *c)
{
    char text[TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    bool has_values = false;
    put(out, "    ");
    put(out, c->name);
    put(out, ")\n");
    for (size_t i = 0; i < tc_command_option_count(c); i++) {
        if (tc_command_option(c, i)->argument != NULL) {
            put(out, has_values ? "" : "        case $prev in\n");
            has_values = true;
            bash_value(out, tc_command_option(c, i));
        }
    }
    put(out, has_values ? "        esac\n" : "");
    tc_buf_lit(&b, "        if [[ $cur == -* ]]; then\n            _tracecore_words \"");
    for (size_t i = 0; i < tc_command_option_count(c); i++) {
        (void)tc_format(&b, "--{} ", tc_command_option(c, i)->name);
    }
    tc_buf_lit(&b, "--help\"\n");
    if (c->words != NULL) {
        tc_buf_lit(&b, "        elif ((COMP_CWORD == 2)); then\n            _tracecore_words \"");
        put_words(&b, c->words);
        tc_buf_lit(&b, "\"\n");
    }
    tc_buf_lit(&b, "        fi\n        ;;\n");
    put_buf(out, &b);
}

static void bash(struct tc_output *out)
{
    char text[TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
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
    put_commands(&b);
    tc_buf_lit(&b, " --help --version\"\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n");
    put_buf(out, &b);
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

/* Inside single quotes and square brackets of an _arguments specification. */
static void zsh_text(struct tc_buf *b, struct tc_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
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
    char text[TEXT_MAX];
    char words_text[TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    struct tc_buf words = tc_buf_make(words_text, sizeof words_text);
    tc_option_values(&words, o->values, TC_LIT(" "));
    (void)tc_format(&b, "            '{}", o->argument != NULL ? "*" : "");
    if (is_short) {
        tc_buf_char(&b, '-');
        tc_buf_char(&b, o->letter);
        tc_buf_str(&b, o->argument != NULL ? TC_LIT("+") : TC_EMPTY);
    } else {
        (void)tc_format(&b, "--{}{}", o->name, o->argument != NULL ? "=" : "");
    }
    tc_buf_char(&b, '[');
    zsh_text(&b, first_sentence(o->help));
    tc_buf_char(&b, ']');
    if (o->argument != NULL) {
        tc_buf_char(&b, ':');
        zsh_text(&b, tc_slice_cstr(o->argument));
        tc_buf_char(&b, ':');
        if (words.len > 0) {
            (void)tc_format(&b, "({})", tc_buf_slice(&words));
        } else if (strcmp(o->argument, "FILE") == 0) {
            tc_buf_lit(&b, "_files");
        }
    }
    tc_buf_lit(&b, "' \\\n");
    put_buf(out, &b);
}

static void zsh_command(struct tc_output *out, const struct tc_command *c)
{
    char text[TEXT_MAX];
    struct tc_buf b = tc_buf_make(text, sizeof text);
    put(out, "    ");
    put(out, c->name);
    put(out, ")\n        _arguments -s \\\n");
    for (size_t i = 0; i < tc_command_option_count(c); i++) {
        zsh_option(out, tc_command_option(c, i), false);
        if (tc_command_option(c, i)->letter != '\0') {
            zsh_option(out, tc_command_option(c, i), true);
        }
    }
    if (c->words != NULL) {
        tc_buf_lit(&b, "            '1:what:(");
        put_words(&b, c->words);
        tc_buf_lit(&b, ")' \\\n");
    }
    tc_buf_lit(&b, "            '(- *)'{-h,--help}'[How to use it]' \\\n"
                   "            '*:file:_files'\n"
                   "        ;;\n");
    put_buf(out, &b);
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
        char text[TEXT_MAX];
        struct tc_buf b = tc_buf_make(text, sizeof text);
        (void)tc_format(&b, "        '{}:", all[i]->name);
        zsh_text(&b, tc_slice_cstr(all[i]->summary));
        tc_buf_lit(&b, "'\n");
        put_buf(out, &b);
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

static int run(int argc, char **argv)
{
    int code = tc_options_read(&tc_command_completion, argc, argv, NULL);
    if (code != TC_GO_ON) {
        return code;
    }
    bool is_bash = argc - optind == 1 && strcmp(argv[optind], "bash") == 0;
    bool is_zsh = argc - optind == 1 && strcmp(argv[optind], "zsh") == 0;
    if (!is_bash && !is_zsh) {
        tc_say("completion", "for which shell? tracecore completion bash, or zsh");
        return TC_EXIT_BAD;
    }
    struct tc_output out;
    tc_output_init(&out, STDOUT_FILENO);
    if (is_bash) {
        bash(&out);
    } else {
        zsh(&out);
    }
    return tc_output_end(&out, "completion", TC_EXIT_OK);
}

const struct tc_command tc_command_completion = {
    .name = "completion",
    .summary = "print the completion script of a shell",
    .usage = "usage: tracecore completion bash|zsh\n"
             "\n"
             "Prints the script that completes commands, options and their values.\n",
    .notes = "Examples:\n"
             "  source <(tracecore completion bash)\n"
             "  tracecore completion zsh > ~/.zfunc/_tracecore\n",
    .words = "bash zsh",
    .run = run,
};

/*
 * What shells read from standard input: bash <<END, sh <<< "…", cat <<END | sh, { sh; } <<END.
 *
 * How it works. A pipeline passes text from left to right. So a shell that reads its standard input reads the
 * here-documents and here-strings that came before it in its pipeline, and in the pipelines around it if it is inside a
 * compound command. A text after a compound command is read by any shell inside. Whether a command between the two
 * changes the text (sed, grep) is unknown: the text counts as it is.
 *
 * A here-document's lines come after its command line, so the shell may be known before the text or the text before
 * the shell. Texts are kept until the outermost pipeline ends.
 */
#include "gate/shell_parser.h"

#include <string.h>

#include "base/memory.h"

static void walk_text(struct shell_parser *p, const struct word_list *text)
{
        if (text->length && parser_enter(p))
                shell_walk_commands((struct shell_text){ text->bytes, text->origins, text->length }, p->depth, p->visit,
                                    p->context);
        if (text->length)
                parser_leave(p);
}

static struct shell_group *current_group(struct shell_parser *p)
{
        return &p->input.groups[p->input.group];
}

void parser_free_input(struct shell_parser *p)
{
        for (size_t i = 0; i < p->input.count; i++)
                word_list_done(&p->input.texts[i].text);
        p->input.forgotten += p->input.count;
        p->input.count = 0;
}

void parser_end_pipeline(struct shell_parser *p)
{
        struct shell_group *g = current_group(p);
        if (p->input.group == 0)
                parser_free_input(p);
        g->pipeline = p->input.count;
        g->element_has_shell = false;
}

void parser_continue_pipeline(struct shell_parser *p)
{
        current_group(p)->element_has_shell = false;
        p->input.after_pipe = true;
}

void parser_open_group(struct shell_parser *p)
{
        struct shell_input *input = &p->input;
        if (input->group == COMMAND_DEPTH_MAX) {
                p->stopped = true;
                return;
        }
        input->groups[++input->group] = (struct shell_group){ input->count, input->count, false, false };
}

static void close_innermost(struct shell_input *input)
{
        bool has_shell = input->groups[input->group--].has_shell;
        input->groups[input->group].has_shell |= has_shell;
        input->groups[input->group].element_has_shell |= has_shell;
}

void parser_close_group(struct shell_parser *p)
{
        if (p->input.group > p->input.base)
                close_innermost(&p->input);
}

size_t parser_enter_group(struct shell_parser *p)
{
        size_t base = p->input.base;
        parser_open_group(p);
        p->input.base = p->input.group;
        return base;
}

void parser_leave_group(struct shell_parser *p, size_t base)
{
        while (p->input.group > p->input.base)
                close_innermost(&p->input);
        p->input.base = base;
        parser_close_group(p);
}

size_t parser_add_input(struct shell_parser *p, bool *ret_script)
{
        struct shell_input *input = &p->input;
        *ret_script = current_group(p)->element_has_shell;
        if (input->count == INPUT_TEXTS_MAX)
                return 0;
        input->texts[input->count] = (struct input_text){ .is_script = *ret_script };
        return input->forgotten + ++input->count;
}

bool parser_keeps_input(const struct shell_parser *p, size_t id)
{
        return id > p->input.forgotten;
}

void parser_set_input(struct shell_parser *p, size_t id, bool is_script, struct word_list *text)
{
        if (is_script)
                walk_text(p, text);
        if (!parser_keeps_input(p, id)) {
                word_list_done(text);
                return;
        }
        struct input_text *t = &p->input.texts[id - p->input.forgotten - 1];
        t->text = *text;
        t->is_read = true;
}

/* A here-document that has not been read yet is walked when it is. */
static void mark_script(struct shell_parser *p, size_t index)
{
        struct input_text *t = &p->input.texts[index];
        if (t->is_script)
                return;
        t->is_script = true;
        for (size_t i = 0; i < p->pending_count; i++)
                p->pending[i].is_script |= p->pending[i].id == p->input.forgotten + index + 1;
        if (t->is_read)
                walk_text(p, &t->text);
}

void parser_shell_reads_input(struct shell_parser *p)
{
        struct shell_input *input = &p->input;
        for (size_t g = 0; g <= input->group; g++) {
                size_t end = g < input->group ? input->groups[g + 1].first : input->count;
                for (size_t i = input->groups[g].pipeline; i < end; i++)
                        mark_script(p, i);
        }
        current_group(p)->has_shell = current_group(p)->element_has_shell = true;
}

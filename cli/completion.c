/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp completion`: what a shell needs to complete the words of msp, from the option tables. The
 * names of sandboxes and profiles and the ids of commands are asked for when they are completed.
 */
#include <stdio.h>
#include <string.h>

#include "common/text/format.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "table.h"

#define WORDS_MAX 1024

/* --- what the tables say -------------------------------------------------------------------- */

/* Operands that msp itself lists. */
struct listed {
	const char *operand;
	const char *kind;
	const char *verb; /* the command of msp whose option -q prints one in a line */
};

static const struct listed listed[] = {
	{ "SANDBOX", "sandbox", "list" },
	{ "ID", "id", "ps" },
};

/* Find what the first operand of a command is of these; NULL: nothing. */
static const struct listed *find_listed(const struct command *command)
{
	const char *operands = command->operands + (command->operands[0] == '[');

	for (size_t i = 0; i < sizeof(listed) / sizeof(listed[0]); i++) {
		if (strncmp(operands, listed[i].operand, strlen(listed[i].operand)) == 0)
			return &listed[i];
	}
	return NULL;
}

static bool takes_several(const struct command *command)
{
	return find_listed(command) && strstr(command->operands, "...") &&
	       !strstr(command->operands, "CMD");
}

static bool takes_program(const struct command *command)
{
	return strstr(command->operands, "CMD") != NULL;
}

/* Find the lower-case words that begin the alternatives of "show | verify FILE"; "" for others. */
static void find_alternatives(const char *text, char ret[WORDS_MAX])
{
	ret[0] = '\0';
	if (!strchr(text, '|'))
		return;
	while (*text != '\0') {
		size_t size;

		text += strspn(text, " |[");
		size = strspn(text, "abcdefghijklmnopqrstuvwxyz-");
		if (size > 0)
			format_append(ret, WORDS_MAX, "%s%.*s", ret[0] ? " " : "", (int)size, text);
		text += strcspn(text, "|");
	}
}

/* Each line begins with the name of a profile. */
#define PROFILES "msp profile list -q 2>/dev/null | cut -d \" \" -f 1"

/* A shell's words for the value of an option: one of a few words, which stand between the first
 * two; the name of a profile; a directory of this machine; another one. */
struct value_forms {
	const char *before, *behind, *profile, *directory, *other;
};

static void print_value(const struct option_row *row, const struct value_forms *forms)
{
	const bool is_directory =
		strcmp(row->argument, "DIR") == 0 && row->set != option_set_inside_path;
	char words[WORDS_MAX];

	find_alternatives(row->argument, words);
	if (words[0])
		(void)printf("%s%s%s", forms->before, words, forms->behind);
	else
		(void)fputs(row->set == option_set_profile ? forms->profile
			    : is_directory                 ? forms->directory
							   : forms->other,
			    stdout);
}

/* Call for each option of a command, those of every command included. */
static void each_option(const struct command *command,
			void (*print)(const struct command *command, const struct option_row *row))
{
	for (size_t i = 0; i < command->options.count; i++)
		print(command, &command->options.rows[i]);
	for (size_t i = 0; i < everywhere_options.count; i++)
		print(command, &everywhere_options.rows[i]);
}

/* Print a text up to its first clause's end, without the marks that quote it or mean something. */
static void print_clause(const char *text, const char *marks)
{
	for (; *text != '\0' && *text != ';' && strncmp(text, ". ", 2) != 0 &&
	       strncmp(text, " (", 2) != 0 && strncmp(text, ": ", 2) != 0;
	     text++) {
		if (!strchr(marks, *text))
			(void)putchar(*text);
	}
}

/* --- bash ----------------------------------------------------------------------------------- */

static const char bash_head[] =
	"# bash completion for msp: 'msp completion bash' prints it.\n"
	"_msp() {\n"
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} option= command= options= words= i\n"
	"\tlocal programs= IFS=$' \\t\\n'\n"
	"\tCOMPREPLY=()\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in\n"
	"\t\t-C | --directory) ((i++)) ;;\n"
	"\t\t-* | =) ;;\n"
	"\t\t*) command=${COMP_WORDS[i]}; break ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\tif [[ $cur == = ]]; then option=${COMP_WORDS[COMP_CWORD - 1]} cur=\n"
	"\telif [[ ${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then\n"
	"\t\toption=${COMP_WORDS[COMP_CWORD - 2]}\n"
	"\telif [[ ${COMP_WORDS[COMP_CWORD - 1]} == -* && $cur != -* ]]; then\n"
	"\t\toption=${COMP_WORDS[COMP_CWORD - 1]}\n"
	"\tfi\n"
	"\tcase $command:$option in\n";

static const char bash_options[] =
	"\tesac\n"
	"\tif [[ $words ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); return; fi\n"
	"\tcase $command in\n";

static const char bash_tail[] =
	"\tesac\n"
	"\tif [[ $cur == -* ]]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
	"\t\t[[ ${COMPREPLY[0]} == *= && ${#COMPREPLY[@]} == 1 ]] && compopt -o nospace "
	"2>/dev/null\n"
	"\telif [[ $words ]]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$cur\"))\n"
	"\telif [[ $programs ]]; then\n"
	"\t\tCOMPREPLY=($(compgen -c -- \"$cur\"))\n"
	"\tfi\n"
	"\treturn 0\n"
	"}\n"
	"complete -o default -F _msp msp\n";

static void print_bash_value(const struct command *command, const struct option_row *row)
{
	static const struct value_forms forms = { "words='", "'", "words=$(" PROFILES ")",
						  "COMPREPLY=($(compgen -d -- \"$cur\")); return",
						  "return" };

	if (!row->argument)
		return;
	(void)printf("\t%s:--%s) ", command->name, row->name);
	print_value(row, &forms);
	(void)fputs(" ;;\n", stdout);
}

static void print_bash_option(const struct command *command, const struct option_row *row)
{
	(void)command;
	(void)printf("--%s%s ", row->name, row->argument && !row->is_optional ? "=" : "");
	if (row->letter)
		(void)printf("-%c ", row->letter);
}

static void print_bash_words(const struct command *command)
{
	const struct listed *of = find_listed(command);
	char words[WORDS_MAX];

	(void)printf("\t%s)\n\t\toptions='", command->name);
	each_option(command, print_bash_option);
	(void)printf("--help'\n");
	find_alternatives(command->operands, words);
	if (of)
		(void)printf("\t\twords=$(msp %s -q 2>/dev/null)\n", of->verb);
	else if (words[0])
		(void)printf("\t\twords='%s'\n", words);
	if (takes_program(command))
		(void)fputs("\t\tprograms=yes\n", stdout);
	(void)fputs("\t\t;;\n", stdout);
}

static void print_bash(void)
{
	(void)fputs(bash_head, stdout);
	for (size_t i = 0; i < command_count; i++)
		each_option(commands[i], print_bash_value);
	(void)fputs(bash_options, stdout);
	(void)fputs("\t'')\n\t\toptions='--directory= -C --quiet -q --help --version'\n\t\twords='",
		    stdout);
	for (size_t i = 0; i < command_count; i++)
		(void)printf("%s%s", i > 0 ? " " : "", commands[i]->name);
	(void)fputs("'\n\t\t;;\n", stdout);
	for (size_t i = 0; i < command_count; i++)
		print_bash_words(commands[i]);
	(void)fputs(bash_tail, stdout);
}

/* --- zsh ------------------------------------------------------------------------------------ */

#define ZSH_MARKS "'[]:\\\""

static const char zsh_head[] =
	"#compdef msp\n"
	"# zsh completion for msp: 'msp completion zsh' prints it.\n"
	"_msp_listed() {\n"
	"\tlocal -a names\n"
	"\tnames=(${(f)\"$(msp $1 -q 2>/dev/null)\"})\n"
	"\t(( $#names )) && compadd -a names\n"
	"}\n"
	"_msp_profiles() { compadd ${(f)\"$(" PROFILES ")\"} }\n"
	"_msp() {\n"
	"\tlocal context state line\n"
	"\tlocal -a msp_commands\n"
	"\ttypeset -A opt_args\n"
	"\t_arguments -C '(-C --directory)'{-C+,--directory=}'[act as if started there]"
	":directory:_directories' \\\n"
	"\t\t'(-q --quiet)'{-q,--quiet}'[say errors only]' '--help' '--version' \\\n"
	"\t\t'1:command:->command' '*::word:->word'\n"
	"\tcase $state in\n"
	"\tcommand)\n"
	"\t\tmsp_commands=(\n";

static void print_zsh_option(const struct command *command, const struct option_row *row)
{
	static const struct value_forms forms = { "(", ")", "_msp_profiles", "_directories",
						  "_files" };

	(void)command;
	(void)printf("\t\t\t'--%s%s[", row->name,
		     !row->argument     ? ""
		     : row->is_optional ? "=-"
					: "=");
	print_clause(row->help, ZSH_MARKS);
	(void)putchar(']');
	if (row->argument) {
		(void)printf("%s:value:", row->is_optional ? ":" : "");
		print_value(row, &forms);
	}
	(void)fputs("' \\\n", stdout);
	if (row->letter)
		(void)printf("\t\t\t'-%c%s' \\\n", row->letter,
			     row->argument && !row->is_optional ? "+:value:_files" : "");
}

static void print_zsh_words(const struct command *command)
{
	const struct listed *of = find_listed(command);
	char words[WORDS_MAX];

	(void)printf("\t\t%s)\n\t\t\t_arguments \\\n", command->name);
	each_option(command, print_zsh_option);
	find_alternatives(command->operands, words);
	(void)fputs("\t\t\t'--help'", stdout);
	if (of)
		(void)printf(" '%s:%s: _msp_listed %s'", takes_several(command) ? "*" : "1",
			     of->kind, of->verb);
	else if (words[0])
		(void)printf(" '1:word:(%s)'", words);
	if (takes_program(command))
		(void)fputs(" '*::program:_normal'", stdout);
	else if (!takes_several(command))
		(void)fputs(" '*:file:_files'", stdout);
	(void)fputs(" ;;\n", stdout);
}

static void print_zsh(void)
{
	(void)fputs(zsh_head, stdout);
	for (size_t i = 0; i < command_count; i++) {
		(void)printf("\t\t\t'%s:", commands[i]->name);
		print_clause(commands[i]->summary, ZSH_MARKS);
		(void)fputs("'\n", stdout);
	}
	(void)fputs(
		"\t\t)\n\t\t_describe command msp_commands ;;\n\tword)\n\t\tcase $words[1] in\n",
		stdout);
	for (size_t i = 0; i < command_count; i++)
		print_zsh_words(commands[i]);
	(void)fputs("\t\tesac ;;\n\tesac\n}\n"
		    "if [[ $funcstack[1] == _msp ]]; then _msp \"$@\"; else compdef _msp msp; fi\n",
		    stdout);
}

/* --- fish ----------------------------------------------------------------------------------- */

#define FISH_MARKS "'\\"

static void print_fish_option(const struct command *command, const struct option_row *row)
{
	static const struct value_forms forms = { " -f -a '", "'", " -f -a '(" PROFILES ")'",
						  " -f -a '(__fish_complete_directories)'", " -F" };

	(void)printf("complete -c msp -n '__fish_seen_subcommand_from %s' -l %s", command->name,
		     row->name);
	if (row->letter)
		(void)printf(" -s %c", row->letter);
	if (row->argument) {
		(void)printf(row->is_optional ? "" : " -r");
		print_value(row, &forms);
	}
	(void)fputs(" -d '", stdout);
	print_clause(row->help, FISH_MARKS);
	(void)fputs("'\n", stdout);
}

static void print_fish_words(const struct command *command)
{
	const struct listed *of = find_listed(command);
	char words[WORDS_MAX];

	find_alternatives(command->operands, words);
	if (of)
		format_text(words, sizeof(words), "(msp %s -q 2>/dev/null)", of->verb);
	if (!words[0])
		return;
	(void)printf("complete -c msp -n '__fish_seen_subcommand_from %s' -a '%s' -d '%s'\n",
		     command->name, words, of ? of->kind : "");
}

static void print_fish(void)
{
	(void)fputs("# fish completion for msp: 'msp completion fish' prints it.\n"
		    "complete -c msp -n __fish_use_subcommand -f\n",
		    stdout);
	for (size_t i = 0; i < command_count; i++) {
		(void)printf("complete -c msp -n __fish_use_subcommand -a %s -d '",
			     commands[i]->name);
		print_clause(commands[i]->summary, FISH_MARKS);
		(void)fputs("'\n", stdout);
		print_fish_words(commands[i]);
		each_option(commands[i], print_fish_option);
	}
}

/* --- the command ---------------------------------------------------------------------------- */

static const struct shell {
	struct command_action is;
	void (*print)(void);
} shells[] = {
	{ { "bash", 0, 0, NULL }, print_bash },
	{ { "zsh", 0, 0, NULL }, print_zsh },
	{ { "fish", 0, 0, NULL }, print_fish },
};

static int run_completion(const struct command *command, int argc, char *argv[])
{
	struct command_words words = { .most = 1 };
	const struct shell *shell;
	int code;

	shell = command_parse_action(command, argc, argv, NULL, &words, &code);
	if (!shell)
		return code;
	shell->print();
	return fflush(stdout) == 0 ? 0 : MSP_EXIT_SOFTWARE;
}

const struct command command_completion = {
	.name = "completion",
	.operands = "bash | zsh | fish",
	.summary = "print what a shell needs to complete msp's words",
	.help = "Print the completions of msp's commands, options and sandboxes for a shell.\n"
		"An installed msp has them in place. Otherwise:\n"
		"  bash  source <(msp completion bash)\n"
		"  zsh   source <(msp completion zsh)\n"
		"  fish  msp completion fish | source\n",
	.options = { .has_operands = true },
	.actions = ACTION_ROWS(shells),
	.run = run_completion,
};

/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp completion`: what a shell needs to complete the words of msp, from the option tables. The
 * names of sandboxes and profiles and the ids of commands are asked for when they are completed.
 */
#include <stdio.h>
#include <string.h>

#include "commands/cache.h"
#include "common/text/format.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "table.h"

#define WORDS_MAX 1024

/* Each line begins with the name of a profile. */
#define PROFILES_VERB "profile list -q 2>/dev/null | cut -d \" \" -f 1"
#define PROFILES "msp " PROFILES_VERB

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
	{ "AGENT", "agent", "agent list" },
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

/* The word behind an action of a command, which msp lists or knows. */
struct behind {
	const char *command;
	const char *actions; /* with a space between them */
	const char *kind;
	const char *verb; /* the words of msp that print one in a line; NULL: `words` has them */
	void (*words)(char ret[WORDS_MAX]);
};

static void list_cache_tools(char ret[WORDS_MAX])
{
	cache_list_tools(ret, WORDS_MAX);
}

static const struct behind behind[] = {
	{ "image", "show remove", "image", "image list -q 2>/dev/null", NULL },
	{ "vm", "remove", "machine", "vm list -q 2>/dev/null", NULL },
	{ "cache", "add", "tool", NULL, list_cache_tools },
	{ "secret", "check", "profile", PROFILES_VERB, NULL },
	{ "token", "revoke", "name", "token list -q 2>/dev/null", NULL },
	{ "profile", "show diff", "profile", PROFILES_VERB, NULL },
	{ "policy", "seccomp explain", "profile", PROFILES_VERB, NULL },
	{ "network", "list tighten", "sandbox", "list -q 2>/dev/null", NULL },
};

/* Find the next row of a command; NULL as the last one begins. */
static const struct behind *find_behind(const struct command *command, const struct behind *last)
{
	for (const struct behind *next = last ? last + 1 : behind;
	     next < behind + sizeof(behind) / sizeof(behind[0]); next++) {
		if (strcmp(next->command, command->name) == 0)
			return next;
	}
	return NULL;
}

/* Print the actions of a row, with `between` in place of spaces. */
static void print_actions(const struct behind *row, const char *between)
{
	for (const char *at = row->actions; *at != '\0'; at++) {
		if (*at == ' ')
			(void)fputs(between, stdout);
		else
			(void)putchar(*at);
	}
}

/* Print the words of a row, or, between `before` and `after`, the command that prints them. */
static void print_behind(const struct behind *row, const char *before, const char *after)
{
	char words[WORDS_MAX] = "";

	if (row->words)
		row->words(words);
	if (row->words)
		(void)fputs(words, stdout);
	else
		(void)printf("%smsp %s%s", before, row->verb, after);
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

/* Find the words that can come first, of a command whose operands begin so; "" for others. */
static void find_first_words(const struct command *command, char ret[WORDS_MAX])
{
	const char *operands = command->operands;

	find_alternatives(operands, ret);
	if (!ret[0])
		format_text(ret, WORDS_MAX, "%.*s",
			    (int)strspn(operands, "abcdefghijklmnopqrstuvwxyz-"), operands);
}

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
	"\tlocal cur=${COMP_WORDS[COMP_CWORD]} option= command= action= options= words= i whole\n"
	"\tlocal programs= IFS=$' \\t\\n'\n"
	"\tCOMPREPLY=()\n"
	"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
	"\t\tcase ${COMP_WORDS[i]} in\n"
	"\t\t-C | --directory) ((i++)); [[ ${COMP_WORDS[i]} == = ]] && ((i++)) ;;\n"
	"\t\t=) [[ $command ]] && ((i++)) ;;\n"
	"\t\t-*) ;;\n"
	"\t\t*) if [[ $command ]]; then action=${COMP_WORDS[i]}; break; fi\n"
	"\t\t\tcommand=${COMP_WORDS[i]} ;;\n"
	"\t\tesac\n"
	"\tdone\n"
	"\t# A name with colons is several words here: complete the whole, and show the last.\n"
	"\ti=$COMP_CWORD whole=$cur\n"
	"\twhile ((i > 1)) && [[ ${COMP_WORDS[i]} == : || ${COMP_WORDS[i - 1]} == : ]]; do\n"
	"\t\twhole=${COMP_WORDS[--i]}$whole\n"
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
	"\t\tCOMPREPLY=($(compgen -W \"$words\" -- \"$whole\"))\n"
	"\t\twhole=${whole%\"${whole##*:}\"}\n"
	"\t\tCOMPREPLY=(\"${COMPREPLY[@]#\"$whole\"}\")\n"
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

/* Behind an action there are names, or files. */
static void print_bash_actions(const struct command *command)
{
	(void)fputs("\t\t[[ $action ]] && words=\n\t\tcase $action in\n", stdout);
	for (const struct behind *row = NULL; (row = find_behind(command, row));) {
		(void)fputs("\t\t", stdout);
		print_actions(row, " | ");
		(void)fputs(row->words ? ") words='" : ") words=", stdout);
		print_behind(row, "$(", ")");
		(void)fputs(row->words ? "' ;;\n" : " ;;\n", stdout);
	}
	(void)fputs("\t\tesac\n", stdout);
}

static void print_bash_words(const struct command *command)
{
	const struct listed *of = find_listed(command);
	char words[WORDS_MAX];

	(void)printf("\t%s)\n\t\toptions='", command->name);
	each_option(command, print_bash_option);
	(void)printf("%s--help'\n", command->options.has_recent ? "-1 -2 " : "");
	find_first_words(command, words);
	if (of)
		(void)printf("\t\twords=\"$(msp %s -q 2>/dev/null) %s\"\n", of->verb, words);
	else if (words[0])
		(void)printf("\t\twords='%s'\n", words);
	if (!of && command->actions.count > 0)
		print_bash_actions(command);
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
	"_msp_listed() {\n"
	"\tlocal -a names\n"
	"\tnames=(${(f)1} ${@:2})\n"
	"\t(( $#names )) && compadd -a names\n"
	"}\n"
	"_msp_sandbox() { _msp_listed \"$(msp list -q 2>/dev/null)\" }\n"
	"_msp_run() { _msp_listed \"$(msp list -q 2>/dev/null)\" -1 -2 }\n"
	"_msp_id() { _msp_listed \"$(msp ps -q 2>/dev/null)\" }\n"
	"_msp_agent() { _msp_listed \"$(msp agent list -q 2>/dev/null)\" list status }\n"
	"_msp_profiles() { _msp_listed \"$(" PROFILES ")\" }\n"
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
	find_first_words(command, words);
	(void)fputs("\t\t\t'--help'", stdout);
	if (of)
		(void)printf(" '%s:%s:_msp_%s'", takes_several(command) ? "*" : "1", of->kind,
			     command->options.has_recent ? "run" : of->kind);
	else if (words[0])
		(void)printf(" '1:word:(%s)'", words);
	if (find_behind(command, NULL))
		(void)printf(" '2:name:_msp_behind_%s'", command->name);
	if (takes_program(command))
		(void)fputs(" '*::program:_normal'", stdout);
	else if (!takes_several(command))
		(void)fputs(" '*:file:_files'", stdout);
	(void)fputs(" ;;\n", stdout);
}

/* As print_bash_actions(); `words` begins with the command and its action. */
static void print_zsh_actions(const struct command *command)
{
	(void)printf("_msp_behind_%s() {\n\tcase $words[2] in\n", command->name);
	for (const struct behind *row = NULL; (row = find_behind(command, row));) {
		(void)fputs("\t(", stdout);
		print_actions(row, "|");
		(void)fputs(row->words ? ") compadd " : ") _msp_listed ", stdout);
		print_behind(row, "\"$(", ")\"");
		(void)fputs(" ;;\n", stdout);
	}
	(void)fputs("\t(*) _files ;;\n\tesac\n}\n", stdout);
}

static void print_zsh(void)
{
	(void)fputs("#compdef msp\n"
		    "# zsh completion for msp: 'msp completion zsh' prints it.\n",
		    stdout);
	for (size_t i = 0; i < command_count; i++) {
		if (find_behind(commands[i], NULL))
			print_zsh_actions(commands[i]);
	}
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

	find_first_words(command, words);
	if (of)
		format_append(words, sizeof(words), "%s%s(msp %s -q 2>/dev/null)",
			      words[0] ? " " : "", command->options.has_recent ? "-1 -2 " : "",
			      of->verb);
	if (!words[0])
		return;
	(void)printf("complete -c msp -n '__fish_seen_subcommand_from %s' -a '%s' -d '%s'\n",
		     command->name, words, of ? of->kind : "");
	for (const struct behind *row = NULL; (row = find_behind(command, row));) {
		(void)printf("complete -c msp -n '__fish_seen_subcommand_from %s; and "
			     "__fish_seen_subcommand_from ",
			     command->name);
		print_actions(row, " ");
		(void)fputs("' -a '", stdout);
		print_behind(row, "(", ")");
		(void)printf("' -d '%s'\n", row->kind);
	}
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

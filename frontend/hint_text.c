/* SPDX-License-Identifier: Apache-2.0 */
#include "frontend/hint_text.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define QUOTES "'\"`"

/* The characters between the words of a line, for hosts. */
#define SPACES " \t\n\r'\"`()<>,;=|&"

/* Endings of files that look like a domain. */
static const char *const endings[] = { "c",    "cc",   "cfg",  "conf", "cpp",  "css", "csv",
				       "d",    "go",   "gz",   "h",    "html", "ini", "jar",
				       "java", "js",   "json", "lock", "log",  "mod", "o",
				       "out",  "pl",   "pm",   "py",   "rb",   "rs",  "sh",
				       "so",   "sum",  "tar",  "tgz",  "toml", "ts",  "txt",
				       "xml",  "yaml", "yml",  "zip",  "md",   "db",  "pid" };

/* A word of a line that may name a host. */
struct word {
	const char *text;
	size_t size;
	bool is_url;
	uint16_t port;
};

const char *hint_text_find(const char *line, const char *words)
{
	const size_t size = strlen(words);

	for (; *line; line++) {
		if (strncasecmp(line, words, size) == 0)
			return line;
	}
	return NULL;
}

/* Copy the next of the words that `|` separates. False: there is none. */
static bool next_words(const char **words, char ret[HINT_TARGET_MAX])
{
	const size_t size = strcspn(*words, "|");

	if (size == 0 || size >= HINT_TARGET_MAX)
		return false;
	memcpy(ret, *words, size);
	ret[size] = '\0';
	*words += size + ((*words)[size] == '|');
	return true;
}

static const char *find_begin(const char *line, const char *words)
{
	const char *at = hint_text_find(line, words);

	while (at && at > line && isalnum((unsigned char)at[-1]) && isalnum((unsigned char)*words))
		at = hint_text_find(at + 1, words);
	return at;
}

const char *hint_text_find_word(const char *line, const char *words)
{
	char part[HINT_TARGET_MAX];
	const char *ret = NULL;

	while (!ret && next_words(&words, part))
		ret = find_begin(line, part);
	return ret;
}

bool hint_text_has(const char *text, const char *words)
{
	char part[HINT_TARGET_MAX];

	while (next_words(&words, part)) {
		if (hint_text_find(text, part))
			return true;
	}
	return false;
}

const char *hint_text_find_program(const char *command, const char *program)
{
	const char *at = strstr(command, program);

	while (at && at > command && !strchr(" ;&|(", at[-1]) &&
	       !(at - command >= 4 && strncmp(at - 4, "bin/", 4) == 0))
		at = strstr(at + 1, program);
	return at;
}

void hint_text_clean(char *text, size_t size)
{
	size_t used = 0;

	for (size_t i = 0; i < size; i++) {
		const bool is_quote = size - i >= 3 && memcmp(text + i, "\342\200", 2) == 0 &&
				      strchr("\230\231\234\235", text[i + 2]) && text[i + 2];

		text[used++] = (char)(is_quote ? '\'' : text[i] ? text[i] : ' ');
		i += is_quote ? 2 : 0;
	}
	text[used] = '\0';
}

bool hint_text_is_blank(const char *text)
{
	return text[strspn(text, " \t\r\n")] == '\0';
}

static bool copy_plain(const char *from, size_t size, char ret[HINT_TARGET_MAX])
{
	if (size == 0 || size >= HINT_TARGET_MAX)
		return false;
	for (size_t i = 0; i < size; i++) {
		if (from[i] < 0x21 || from[i] > 0x7e)
			return false;
	}
	memcpy(ret, from, size);
	ret[size] = '\0';
	return true;
}

/* Measure the word that begins at `from`: to its quote, or else to a space or a colon before one.
 */
static size_t measure_word(const char *from, char quote)
{
	size_t size = 0;

	if (quote)
		return strcspn(from, (const char[]){ quote, '\0' });
	while (from[size] && !isspace((unsigned char)from[size]) &&
	       !strchr(QUOTES ")],;", from[size]) &&
	       !(from[size] == ':' && (!from[size + 1] || isspace((unsigned char)from[size + 1]))))
		size++;
	return size;
}

bool hint_text_word(const char *from, char ret[HINT_TARGET_MAX])
{
	return copy_plain(from, measure_word(from, '\0'), ret);
}

bool hint_text_path(const char *line, char ret[HINT_TARGET_MAX])
{
	bool is_found = false;

	for (const char *at = line + 1; *line && *at; at++) {
		if (*at != '/' || at[1] == '/' || !strchr(" \t(=" QUOTES, at[-1]))
			continue;
		is_found = copy_plain(at, measure_word(at, strchr(QUOTES, at[-1]) ? at[-1] : '\0'),
				      ret) ||
			   is_found;
	}
	return is_found;
}

bool hint_text_has_place(const char *line)
{
	const size_t size = strcspn(line, " ");

	return size > 2 && line[size - 1] == ':' && isdigit((unsigned char)line[size - 2]) &&
	       memchr(line, ':', size - 1);
}

static bool is_behind(const char *line, const char *at, const char *word)
{
	const ptrdiff_t size = (ptrdiff_t)strlen(word);

	return at - line >= size && strncmp(at - size, word, (size_t)size) == 0;
}

/* Find a name in quotes close to the words: what is further away is no file. */
static bool find_quoted(const char *line, const char *words, char ret[HINT_TARGET_MAX])
{
	const ptrdiff_t before = 12, after = 48;

	for (const char *at = line; *at; at++) {
		const size_t size = strchr(QUOTES, *at) ? measure_word(at + 1, *at) : 0;
		const char *end = at + 1 + size;

		if (size == 0 || *end != *at)
			continue;
		if (is_behind(line, at, "in ")) { /* a function's name */
			at = end;
			continue;
		}
		if ((end < words && words - end <= before) || (at > words && at - words <= after))
			return copy_plain(at + 1, size, ret) && !strpbrk(ret, "(){}");
		at = end;
	}
	return false;
}

/* Find a name between a space and ": WORDS", or ": Cannot open: WORDS". Without ": " before it, it
 * must look like a file's. */
static bool find_before(const char *line, const char *words, char ret[HINT_TARGET_MAX])
{
	static const char cannot[] = ": Cannot open: ";
	const char *begin;

	if (words - line > (ptrdiff_t)strlen(cannot) &&
	    strncmp(words - strlen(cannot), cannot, strlen(cannot)) == 0)
		words -= strlen(cannot) - 2;
	if (words - line < 3 || words[-1] != ' ' || words[-2] != ':')
		return false;
	begin = words - 2;
	while (begin > line && begin[-1] != ' ')
		begin--;
	return begin - line >= 2 && copy_plain(begin, (size_t)(words - 2 - begin), ret) &&
	       !strpbrk(ret, "(){}") &&
	       (begin[-2] == ':' || is_behind(line, begin, "read ") ||
		is_behind(line, begin, "open ") || is_behind(line, begin, "file "));
}

bool hint_text_name(const char *line, const char *words, char ret[HINT_TARGET_MAX])
{
	const char *begin;

	if (hint_text_has_place(line))
		return false;
	if (find_quoted(line, words, ret))
		return true;
	begin = strstr(words, " -- ");
	if (begin)
		return hint_text_word(begin + 4, ret);
	return find_before(line, words, ret);
}

/* --- hosts ------------------------------------------------------------------------------------ */

static bool is_address(const char *text)
{
	struct in6_addr address;

	return inet_pton(AF_INET, text, &address) == 1 || inet_pton(AF_INET6, text, &address) == 1;
}

static bool is_ending(const char *text)
{
	for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
		if (strcmp(endings[i], text) == 0)
			return true;
	}
	return false;
}

/* Return whether a name with a dot has a domain: at least two small letters, and no file's ending
 * unless the text named it a host. */
static bool has_domain(const char *name, bool is_named)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	const char *dot = strrchr(name, '.');

	return dot && dot > name && strlen(dot + 1) >= 2 &&
	       strspn(dot + 1, letters) == strlen(dot + 1) && (is_named || !is_ending(dot + 1)) &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.") ==
		       strlen(name);
}

/* Take the number behind the last colon for a port, if the rest is no IPv6 address. Coordinates of
 * a package, GROUP:NAME:VERSION, are no host. */
static void split_port(struct word *word, char text[HINT_TARGET_MAX])
{
	char *colon = strrchr(text, ':');

	if (!colon || is_address(text))
		return;
	if (strchr(text, ':') != colon && isalpha((unsigned char)strchr(text, ':')[1])) {
		text[0] = '\0';
		return;
	}
	word->port = (uint16_t)strtoul(colon + 1, NULL, 10);
	*colon = '\0';
	colon = strchr(text, ':'); /* a place in a source: FILE:LINE:COLUMN */
	if (colon && !is_address(text))
		*colon = '\0';
}

/* Remove what is around a host: the scheme and path of a URL, a user, brackets. */
static bool strip_word(struct word *word, char ret[HINT_TARGET_MAX])
{
	const char *scheme = memmem(word->text, word->size, "://", 3);
	const char *end = word->text + word->size;
	const char *begin = scheme ? scheme + 3 : word->text;
	const char *user;
	size_t size = (size_t)(end - begin);

	word->is_url = scheme != NULL;
	if (scheme && memchr(begin, '/', size))
		size = (size_t)((const char *)memchr(begin, '/', size) - begin);
	else if (!scheme && memchr(begin, '/', size))
		return false;
	user = memchr(begin, '@', size);
	if (user) {
		size -= (size_t)(user + 1 - begin);
		begin = user + 1;
	}
	if (size > 0 && begin[0] == '[') {
		const char *close = memchr(begin, ']', size);

		if (!close || !copy_plain(begin + 1, (size_t)(close - begin - 1), ret))
			return false;
		word->port = close + 1 < begin + size && close[1] == ':'
				     ? (uint16_t)strtoul(close + 2, NULL, 10)
				     : 0;
		return true;
	}
	if (memchr(begin, '[', size))
		size = (size_t)((const char *)memchr(begin, '[', size) - begin);
	while (size > 0 && strchr(":.", begin[size - 1]))
		size--;
	if (!copy_plain(begin, size, ret))
		return false;
	split_port(word, ret);
	return ret[0] != '\0';
}

/* Read the next word of `*at`. False: there is none. */
static bool next_word(const char **at, struct word *ret)
{
	*at += strspn(*at, SPACES);
	*ret = (struct word){ .text = *at, .size = strcspn(*at, SPACES) };
	*at += ret->size;
	return ret->size > 0;
}

/* "... port 8080" behind a host. */
static uint16_t find_port(const char *rest)
{
	const char *words = hint_text_find(rest, "port ");

	return words && words - rest < 8 ? (uint16_t)strtoul(words + 5, NULL, 10) : 0;
}

/* Return the port of a URL that has none; 0: of another scheme. */
static uint16_t scheme_port(const struct word *word)
{
	static const struct {
		const char *scheme;
		uint16_t port;
	} ports[] = { { "https://", 443 }, { "http://", 80 }, { "ssh://", 22 } };

	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		if (memmem(word->text, word->size, ports[i].scheme, strlen(ports[i].scheme)))
			return ports[i].port;
	}
	return 0;
}

/* Return whether the word says that a host follows. */
static bool names_host(const struct word *word)
{
	static const char *const words[] = { "host",    "host:",     "hostname", "lookup",
					     "address", "enotfound", "eai_again" };

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (word->size == strlen(words[i]) &&
		    strncasecmp(word->text, words[i], word->size) == 0)
			return true;
	}
	return false;
}

static bool is_host(const struct word *word, const char *host, bool is_command, bool is_named)
{
	const bool is_certain = word->is_url || word->port != 0;

	if (is_address(host))
		return true;
	if (is_command && !is_certain)
		return false;
	return strcmp(host, "localhost") == 0 || has_domain(host, is_named || word->is_url);
}

static bool find_host(const char *text, bool is_command, char ret[HINT_TARGET_MAX],
		      uint16_t *ret_port)
{
	const char *at = text;
	struct word word, before = { .text = "", .size = 0 };
	char host[HINT_TARGET_MAX];

	for (; next_word(&at, &word); before = word) {
		/* not the program or the error that a line begins with */
		const bool is_label = word.text == text && word.text[word.size - 1] == ':';

		if (!strip_word(&word, host) || (is_label && !word.is_url) ||
		    !is_host(&word, host, is_command, names_host(&before)))
			continue;
		memcpy(ret, host, sizeof(host));
		*ret_port = word.port     ? word.port
			    : word.is_url ? scheme_port(&word)
					  : find_port(at);
		return true;
	}
	return false;
}

bool hint_text_host(const char *line, char ret[HINT_TARGET_MAX], uint16_t *ret_port)
{
	return find_host(line, false, ret, ret_port);
}

bool hint_text_command_host(const char *command, char ret[HINT_TARGET_MAX], uint16_t *ret_port)
{
	return find_host(command, true, ret, ret_port);
}

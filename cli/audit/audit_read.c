/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/audit_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/text/format.h"
#include "show/quote.h"

#define OPEN_FLAGS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* The beginning of a byte's escape in a list, and the size of all of it. */
#define ESCAPE "\\u00"
#define ESCAPE_SIZE 6

/* Writers need the lock for microseconds. One that keeps it does not stop who only reads. */
#define LOCK_STEP_NS 1000000
#define LOCK_STEPS 500

static bool lock_head(int head)
{
	const struct timespec step = { .tv_nsec = LOCK_STEP_NS };

	for (int i = 0; i < LOCK_STEPS; i++) {
		if (flock(head, LOCK_SH | LOCK_NB) == 0)
			return true;
		(void)nanosleep(&step, NULL); /* a shorter pause is as good */
	}
	return false;
}

static int open_files(struct audit_log *log)
{
	for (unsigned int number = AUDIT_FILES; number-- > 0;) {
		struct audit_file *file = &log->files[log->count];
		char name[AUDIT_NAME_MAX];
		struct stat status;

		audit_file_name(number, name);
		file->fd = openat(log->directory, name, OPEN_FLAGS);
		if (file->fd < 0 && errno == ENOENT)
			continue;
		if (file->fd < 0)
			return -errno;
		log->count++;
		if (fstat(file->fd, &status) != 0)
			return -errno;
		if (!S_ISREG(status.st_mode))
			return -EINVAL;
		file->number = number;
		file->size = (uint64_t)status.st_size;
		file->inode = status.st_ino;
	}
	return 0;
}

int audit_log_open(int directory, struct audit_log *ret)
{
	char text[AUDIT_HEAD_BYTES];
	int head = openat(directory, AUDIT_HEAD, OPEN_FLAGS);
	int error;

	*ret = (struct audit_log){ .directory = directory };
	if (head < 0 && errno != ENOENT)
		return -errno;
	ret->is_locked = head >= 0 && lock_head(head);
	ret->has_head = head >= 0 && pread(head, text, sizeof(text), 0) == sizeof(text) &&
			audit_head_read(text, &ret->head);
	error = open_files(ret);
	fd_close(&head); /* and the lock goes with it */
	if (error)
		audit_log_close(ret);
	return error;
}

void audit_log_close(struct audit_log *log)
{
	for (unsigned int i = 0; i < log->count; i++)
		fd_close(&log->files[i].fd);
	log->count = 0;
}

bool audit_log_find(struct audit_log *ret, char text[STATE_PLACE_TEXT_MAX])
{
	static char path[IPC_PATH_MAX];
	int directory;
	int error;

	directory = state_place_enter(STATE_PLACE_AUDIT, false, path, text);
	if (directory == -ENOENT)
		format_text(text, STATE_PLACE_TEXT_MAX,
			    "nothing was audited yet: there is no %.500s", path);
	if (directory < 0)
		return false;
	error = audit_log_open(directory, ret);
	if (!error)
		return true;
	fd_close(&directory);
	return format_fail(false, text, STATE_PLACE_TEXT_MAX,
			   "the log in %.500s cannot be opened: %s", path, errno_text(-error));
}

void audit_log_done(struct audit_log *log)
{
	audit_log_close(log);
	fd_close(&log->directory);
}

void audit_reader_init(struct audit_reader *reader, int fd, uint64_t left)
{
	reader->fd = fd;
	reader->left = left;
	reader->line = 0;
	reader->is_inside = false;
	reader->begin = 0;
	reader->end = 0;
}

/* More behind what is there; 0 when there is none, else what read(2) said. */
static int fill_buffer(struct audit_reader *reader)
{
	size_t room;
	ssize_t got;

	if (reader->begin > 0)
		memmove(reader->buffer, reader->buffer + reader->begin,
			reader->end - reader->begin);
	reader->end -= reader->begin;
	reader->begin = 0;
	room = sizeof(reader->buffer) - reader->end;
	if (room > reader->left)
		room = (size_t)reader->left;
	do {
		got = room > 0 ? read(reader->fd, reader->buffer + reader->end, room) : 0;
	} while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got < 0 ? -errno : 0;
	reader->end += (size_t)got;
	reader->left -= (uint64_t)got;
	return 1;
}

int audit_reader_next(struct audit_reader *reader, const char **ret_line, size_t *ret_size)
{
	const char *start;
	const char *newline;
	size_t there;
	int more = 1;

	for (;;) {
		start = reader->buffer + reader->begin;
		there = reader->end - reader->begin;
		newline = memchr(start, '\n', there);
		if (newline || there > AUDIT_LINE_MAX || more <= 0)
			break;
		more = fill_buffer(reader);
	}
	if (more < 0)
		return more;
	if (there == 0)
		return 0;
	if (newline)
		there = (size_t)(newline - start) + 1;
	if (there > AUDIT_LINE_MAX + 1) {
		there = AUDIT_LINE_MAX + 1;
		newline = NULL;
	}
	reader->line += !reader->is_inside;
	reader->is_inside = !newline;
	reader->begin += there;
	*ret_line = start;
	*ret_size = there;
	return 1;
}

/* A string without its quotes at *at, which is moved behind it. */
static bool take_string(const char *line, size_t size, size_t *at, const char **ret,
			size_t *ret_size)
{
	size_t end;

	if (*at >= size || line[*at] != '"')
		return false;
	for (end = *at + 1; end < size && line[end] != '"'; end++) {
		if (line[end] < ' ' || line[end] > '~' || line[end] == '\\')
			return false;
	}
	if (end == size)
		return false;
	*ret = line + *at + 1;
	*ret_size = end - *at - 1;
	*at = end + 1;
	return true;
}

static bool take_number(const char *line, size_t size, size_t *at, const char **ret,
			size_t *ret_size)
{
	size_t end = *at;

	while (end < size && line[end] >= '0' && line[end] <= '9')
		end++;
	*ret = line + *at;
	*ret_size = end - *at;
	*at = end;
	return *ret_size > 0 && *ret_size <= 20;
}

/* Return the value of a hexadecimal digit as the writer puts it, or -1. */
static int digit_of(char digit)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = digit ? strchr(digits, digit) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Read the byte of an escape, \u00XX, at the beginning of `size` bytes; -1: there is none. */
static int read_escape(const char *text, size_t size)
{
	if (size < ESCAPE_SIZE || memcmp(text, ESCAPE, sizeof(ESCAPE) - 1) != 0 ||
	    digit_of(text[4]) < 0 || digit_of(text[5]) < 0)
		return -1;
	return 16 * digit_of(text[4]) + digit_of(text[5]);
}

/* A string with escapes at *at, which is moved behind it. No byte of it is NUL. */
static bool skip_escaped(const char *line, size_t size, size_t *at)
{
	size_t end = *at + 1;

	if (*at >= size || line[*at] != '"')
		return false;
	while (end < size && line[end] != '"') {
		const bool is_escape = line[end] == '\\';

		if (is_escape ? read_escape(line + end, size - end) <= 0
			      : line[end] < ' ' || line[end] > '~')
			return false;
		end += is_escape ? ESCAPE_SIZE : 1;
	}
	*at = end + 1;
	return end < size;
}

/* A list of strings without its brackets at *at, which is moved behind it. */
static bool take_list(const char *line, size_t size, size_t *at, const char **ret, size_t *ret_size)
{
	size_t end = *at;

	do {
		end++;
		if (!skip_escaped(line, size, &end))
			return false;
	} while (end < size && line[end] == ',');
	if (end >= size || line[end] != ']')
		return false;
	*ret = line + *at + 1;
	*ret_size = end - *at - 1;
	*at = end + 1;
	return true;
}

int audit_value_next(const char *line, size_t size, size_t *at, struct audit_value *ret)
{
	static const char end[] = "}\n";

	if (*at > 0 && size - *at == sizeof(end) - 1 && memcmp(line + *at, end, 2) == 0)
		return 0;
	if (*at >= size || line[*at] != (*at == 0 ? '{' : ','))
		return -1;
	*at += 1;
	if (!take_string(line, size, at, &ret->key, &ret->key_size) || *at >= size ||
	    line[*at] != ':')
		return -1;
	*at += 1;
	ret->is_list = *at < size && line[*at] == '[';
	ret->is_text = ret->is_list || (*at < size && line[*at] == '"');
	return (ret->is_list   ? take_list
		: ret->is_text ? take_string
			       : take_number)(line, size, at, &ret->value, &ret->size)
		       ? 1
		       : -1;
}

bool audit_value_find(const char *line, size_t size, const char *key, struct audit_value *ret)
{
	size_t at = 0;

	while (audit_value_next(line, size, &at, ret) == 1) {
		if (ret->key_size == strlen(key) && memcmp(ret->key, key, ret->key_size) == 0)
			return true;
	}
	return false;
}

uint64_t audit_value_number(const struct audit_value *value)
{
	uint64_t number = 0;

	for (size_t i = 0; i < value->size; i++)
		number = number * 10 + (uint64_t)(value->value[i] - '0');
	return number;
}

uint64_t audit_number_of(const char *line, size_t size, const char *key)
{
	struct audit_value value;

	return audit_value_find(line, size, key, &value) && !value.is_text
		       ? audit_value_number(&value)
		       : 0;
}

void audit_text_of(const char *line, size_t size, const char *key, char *ret, size_t room)
{
	struct audit_value value;

	ret[0] = '\0';
	if (audit_value_find(line, size, key, &value) && value.is_text)
		format_text(ret, room, "%.*s", (int)value.size, value.value);
}

bool audit_value_is(const struct audit_value *value, const char *text)
{
	return value->is_text && value->size == strlen(text) &&
	       memcmp(value->value, text, value->size) == 0;
}

size_t audit_value_words(const struct audit_value *value, char ret[AUDIT_LINE_MAX])
{
	bool is_inside = false;
	size_t used = 0;

	for (size_t at = 0; at < value->size; at++) {
		const int byte = read_escape(value->value + at, value->size - at);

		if (value->value[at] == '"') {
			if (is_inside)
				ret[used++] = '\0';
			is_inside = !is_inside;
		} else if (is_inside) {
			ret[used++] = byte >= 0 ? (char)byte : value->value[at];
			at += byte >= 0 ? ESCAPE_SIZE - 1 : 0;
		}
	}
	return used;
}

bool audit_is_record(const char *line, size_t size)
{
	/* The first fields of every record, by position. */
	static const struct {
		const char *key;
		bool is_text;
	} first[] = { { "seq", false }, { "time_us", false }, { "pid", false }, { "event", true } };
	struct audit_link link;
	struct audit_value value;
	size_t at = 0;

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		if (audit_value_next(line, size, &at, &value) != 1 ||
		    value.is_text != first[i].is_text || value.is_list ||
		    value.key_size != strlen(first[i].key) ||
		    memcmp(value.key, first[i].key, value.key_size) != 0)
			return false;
	}
	for (int more = 1; more != 0;) {
		more = audit_value_next(line, size, &at, &value);
		if (more < 0)
			return false;
	}
	return audit_link_read(line, size, &link);
}

const char *audit_time(uint64_t time_us, unsigned int digits, char text[AUDIT_TIME_MAX])
{
	const time_t seconds = (time_t)(time_us / 1000000);
	struct tm parts = { 0 };
	char micros[8];

	text[0] = '\0';
	if (gmtime_r(&seconds, &parts))
		(void)strftime(text, AUDIT_TIME_MAX, "%Y-%m-%dT%H:%M:%S", &parts);
	format_text(micros, sizeof(micros), "%06u", (unsigned int)(time_us % 1000000));
	format_append(text, AUDIT_TIME_MAX, ".%.*sZ", (int)digits, micros);
	return text;
}

static void print_value(const struct audit_value *value)
{
	static char words[AUDIT_LINE_MAX];
	const bool has_space = memchr(value->value, ' ', value->size) || value->size == 0;

	if (value->is_list) {
		(void)printf(" %.*s=[", (int)value->key_size, value->key);
		quote_print_words(words, audit_value_words(value, words));
		(void)putchar(']');
		return;
	}
	(void)printf(has_space ? " %.*s=\"%.*s\"" : " %.*s=%.*s", (int)value->key_size, value->key,
		     (int)value->size, value->value);
}

/* Everything but the chain's hashes. */
bool audit_print(void *context, const char *line, size_t size)
{
	struct audit_value value = { 0 };
	char time[AUDIT_TIME_MAX];
	size_t at = 0;

	(void)audit_value_next(line, size, &at, &value); /* a record has these four */
	(void)printf("%.*s ", (int)value.size, value.value);
	(void)audit_value_next(line, size, &at, &value);
	(void)fputs(audit_time(audit_value_number(&value), 6, time), stdout);
	(void)audit_value_next(line, size, &at, &value);
	(void)printf(" %.*s", (int)value.size, value.value);
	(void)audit_value_next(line, size, &at, &value);
	(void)printf(" %.*s", (int)value.size, value.value);
	while (audit_value_next(line, size, &at, &value) == 1) {
		if (value.key_size == 8 && memcmp(value.key, "previous", 8) == 0)
			break;
		print_value(&value);
	}
	(void)putchar('\n');
	return true;
}

bool audit_print_json(void *context, const char *line, size_t size)
{
	(void)fwrite(line, 1, size, stdout);
	return true;
}

bool audit_give(const struct audit_taker *taker, const char *line, size_t size, unsigned int file,
		uint64_t number, uint64_t *bad)
{
	char name[AUDIT_NAME_MAX];

	if (audit_is_record(line, size))
		return taker->take(taker->context, line, size);
	++*bad;
	if (taker->is_quiet)
		return true;
	audit_file_name(file, name);
	(void)fflush(stdout); /* in its place among the others */
	log_line("%s:%llu is no record", name, (unsigned long long)number);
	return true;
}

uint64_t audit_reader_lines(struct audit_reader *reader, int fd, uint64_t size)
{
	const char *line;
	size_t line_size;

	audit_reader_init(reader, fd, size);
	while (audit_reader_next(reader, &line, &line_size) == 1)
		;
	return reader->line;
}

static struct audit_reader reader;

uint64_t audit_log_lines(const struct audit_log *log)
{
	uint64_t count = 0;

	for (unsigned int i = 0; i < log->count; i++) {
		if (lseek(log->files[i].fd, 0, SEEK_SET) == 0) /* else reading it will say so */
			count += audit_reader_lines(&reader, log->files[i].fd, log->files[i].size);
	}
	return count;
}

/* Returns as audit_log_each(), and 1 when no more is wanted. */
static int give_file(const struct audit_file *file, uint64_t *skip, const struct audit_taker *taker,
		     uint64_t *bad)
{
	const char *line;
	int more;
	size_t size;

	if (lseek(file->fd, 0, SEEK_SET) != 0)
		return -errno;
	audit_reader_init(&reader, file->fd, file->size);
	for (uint64_t before = 0; (more = audit_reader_next(&reader, &line, &size)) == 1;
	     before = reader.line) {
		if (*skip > 0)
			*skip -= reader.line != before;
		else if (!audit_give(taker, line, size, file->number, reader.line, bad))
			return 1;
	}
	return more;
}

int audit_log_each(const struct audit_log *log, uint64_t skip, const struct audit_taker *taker,
		   uint64_t *ret_bad)
{
	int result = 0;

	*ret_bad = 0;
	for (unsigned int i = 0; i < log->count && result == 0; i++)
		result = give_file(&log->files[i], &skip, taker, ret_bad);
	return result < 0 ? result : 0;
}

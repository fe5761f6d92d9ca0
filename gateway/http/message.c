/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/http/message.h"

#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>

#include "gateway/hosts/request.h"

#define SHOWN_MAX 200 /* bytes of a target in the text of a refusal */

static const char chunked[] = "Transfer-Encoding: chunked\r\n";

/* --- refusals --------------------------------------------------------------------------------- */

/* Write the text of a refusal: the request, and the rule that it breaks, at a line of the file. */
static bool write_refusal(const struct target *target, const struct head *head,
			  struct refusal *refusal, uint32_t line, const char *rule)
{
	const uint32_t file = target->profile->network_origin.file;
	const struct slice shown = head ? head->target : (struct slice){ "", 0 };
	const struct slice method = head ? head->method : (struct slice){ "", 0 };
	const int begun =
		snprintf(refusal->text, sizeof(refusal->text),
			 "refused: request %.*s%s%s://%s%.*s\nrule: %s",
			 (int)(method.size < 32 ? method.size : 32), method.bytes,
			 head ? " " : "to ", target_is_tls(target) ? "https" : "http", target->name,
			 (int)(shown.size < SHOWN_MAX ? shown.size : SHOWN_MAX), shown.bytes, rule);
	const size_t at =
		(size_t)begun < sizeof(refusal->text) ? (size_t)begun : sizeof(refusal->text) - 1;

	if (line > 0 && file > 0)
		(void)snprintf(refusal->text + at, sizeof(refusal->text) - at, " (%s:%u)\n",
			       plan_string(target->plan, file), line);
	else
		(void)snprintf(refusal->text + at, sizeof(refusal->text) - at, "\n");
	return false;
}

void message_refuse_fault(const struct target *target, enum head_fault fault,
			  struct refusal *ret_refusal)
{
	ret_refusal->status = head_fault_status(fault);
	ret_refusal->reason = CONNECTION_REFUSED_REQUEST;
	(void)write_refusal(target, NULL, ret_refusal, 0,
			    head_fault_rule(fault)); /* it is refused */
}

/* Name the methods of a rule in words. */
static void name_methods(const struct plan_request *rule, char *ret, size_t room)
{
	size_t at = 0;

	ret[0] = '\0';
	for (uint32_t bit = 1; bit < HOST_METHODS_END; bit *= 2) {
		if ((rule->methods & bit) != 0 && at < room)
			at += (size_t)snprintf(ret + at, room - at, "%s%s", at > 0 ? ", " : "",
					       host_method_name(bit));
	}
	if (at == 0)
		(void)snprintf(ret, room, "every method");
}

static const char overrides[] = "requests: no field or parameter gives another method or path, as "
				"X-HTTP-Method-Override and _method do";

void message_refuse_override(const struct target *target, struct refusal *ret_refusal)
{
	*ret_refusal = (struct refusal){ .status = 403, .reason = CONNECTION_REFUSED_REQUEST };
	(void)write_refusal(target, NULL, ret_refusal, target->entry->line,
			    overrides); /* it is refused */
}

static bool has_override(const struct head *head)
{
	const struct slice target = head->target;

	if (host_query_overrides(target.bytes + head->path_size, target.size - head->path_size))
		return true;
	for (uint32_t i = 0; i < head->field_count; i++) {
		if (head->fields[i].kind == HEAD_OVERRIDE)
			return true;
	}
	return false;
}

/* Compare with the rules of the host's entry. */
static bool check_rules(const struct target *target, const struct head *head,
			struct refusal *ret_refusal)
{
	const struct plan_request *rule;
	const struct slice *method = &head->method;
	const struct host_request_line line = { host_method_read(method->bytes, method->size),
						head->target.bytes, head->path_size };
	const enum host_request answer =
		host_request_check(target->plan, target->profile, target->index, &line, &rule);
	char methods[64], text[REFUSAL_TEXT_MAX];

	*ret_refusal = (struct refusal){ .status = 403, .reason = CONNECTION_REFUSED_REQUEST };
	if (answer == HOST_REQUEST_ALLOWED)
		return rule == NULL || !has_override(head) ||
		       write_refusal(target, head, ret_refusal, rule->line, overrides);
	if (answer == HOST_REQUEST_SPELLING) {
		(void)snprintf(text, sizeof(text), "requests: %s",
			       host_path_fault(head->target.bytes, head->path_size));
		return write_refusal(target, head, ret_refusal, rule ? rule->line : 0, text);
	}
	if (rule == NULL)
		return write_refusal(target, head, ret_refusal, target->entry->line,
				     "requests: the host allows none");
	name_methods(rule, methods, sizeof(methods));
	(void)snprintf(text, sizeof(text), "requests: %s allows %s%s%s%s", target->entry->pattern,
		       methods, rule->path[0] != '\0' ? " below " : "", rule->path,
		       answer == HOST_REQUEST_PATH ? ", and no rule this path" : "");
	return write_refusal(target, head, ret_refusal, rule->line, text);
}

static bool refuse_secret(const struct target *target, const struct head *head,
			  struct refusal *ret_refusal, enum secrets_result result, int secret)
{
	const struct plan_secret *record = secrets_record(secret);
	char text[512];

	*ret_refusal = (struct refusal){ .status = 403, .reason = CONNECTION_REFUSED_SECRET };
	switch (result) {
	case SECRETS_OTHER_HOST:
		(void)snprintf(text, sizeof(text), "secrets: %s is not for %s", record->name,
			       target->name);
		break;
	case SECRETS_NO_VALUE:
		ret_refusal->status = 503;
		(void)snprintf(text, sizeof(text),
			       "secrets: %s has no value now: `msp secret check` says why",
			       record->name);
		break;
	case SECRETS_LONG:
		ret_refusal->status = 431;
		(void)snprintf(text, sizeof(text), "secrets: a field with %s has at most %u bytes",
			       record->name, SECRETS_FIELD_MAX);
		break;
	default:
		(void)snprintf(text, sizeof(text), "secrets: %s goes into the field %s only",
			       record->name, record->header);
		break;
	}
	return write_refusal(target, head, ret_refusal, record->line, text);
}

/* --- requests --------------------------------------------------------------------------------- */

static void append_slice(struct buffer *ret, struct slice slice)
{
	buffer_append(ret, slice.bytes, slice.size);
}

static void append_field(struct buffer *ret, struct slice name, const char *value, size_t size)
{
	append_slice(ret, name);
	buffer_append_text(ret, ": ");
	buffer_append(ret, value, size);
	buffer_append_text(ret, "\r\n");
}

/* Return whether a field of a request goes on. A host with a secret answers with all of a thing,
 * and so that it can be looked through. */
static bool is_passed(const struct head_field *field, bool has_secret)
{
	switch (field->kind) {
	case HEAD_PASSED:
	case HEAD_CONTENT_CODING:
	case HEAD_CONTENT_TYPE:
	case HEAD_OVERRIDE:
		return true;
	case HEAD_ACCEPT_CODING:
	case HEAD_RANGE:
		return !has_secret;
	default:
		return false;
	}
}

/* Append the fields that go on, with secrets. */
static bool write_fields(const struct target *target, const struct head *head, bool has_secret,
			 struct buffer *ret, struct refusal *ret_refusal)
{
	static char value[SECRETS_FIELD_MAX];

	for (uint32_t i = 0; i < head->field_count; i++) {
		const struct head_field *field = &head->fields[i];
		enum secrets_result result;
		size_t size = 0;
		int secret = secrets_find(field->name);

		if (secret >= 0)
			return refuse_secret(target, head, ret_refusal, SECRETS_ELSEWHERE, secret);
		if (!is_passed(field, has_secret))
			continue;
		if (field->value.size > SECRETS_FIELD_MAX && secrets_find(field->value) < 0) {
			append_field(ret, field->name, field->value.bytes, field->value.size);
			continue;
		}
		result = secrets_put(target->index, field, value, &size, &secret);
		if (result == SECRETS_FINE)
			append_field(ret, field->name, value, size);
		OPENSSL_cleanse(value, size);
		if (result != SECRETS_FINE)
			return refuse_secret(target, head, ret_refusal, result, secret);
	}
	return true;
}

static void write_framing(const struct head *head, struct buffer *ret)
{
	if (head->framing == HEAD_LENGTH)
		buffer_format(ret, "Content-Length: %llu\r\n", (unsigned long long)head->length);
	else if (head->framing == HEAD_CHUNKED)
		buffer_append_text(ret, chunked);
}

static bool check_request(const struct target *target, const struct head *head,
			  struct refusal *ret_refusal)
{
	const int in_method = secrets_find(head->method);
	const int secret = in_method >= 0 ? in_method : secrets_find(head->target);

	if (!target_is_named(target, head->host.bytes, head->host.size)) {
		*ret_refusal = (struct refusal){ .status = 421, .reason = CONNECTION_REFUSED_HOST };
		return write_refusal(
			target, head, ret_refusal, target->entry->line,
			"hosts: the field Host has the name that the connection was made to");
	}
	return check_rules(target, head, ret_refusal) &&
	       (secret < 0 || refuse_secret(target, head, ret_refusal, SECRETS_ELSEWHERE, secret));
}

bool message_write_request(const struct target *target, const struct head *head, struct buffer *ret,
			   struct refusal *ret_refusal)
{
	const bool has_secret = secrets_are_for(target->index);
	const size_t before = ret->size;

	if (!check_request(target, head, ret_refusal))
		return false;
	append_slice(ret, head->method);
	buffer_append_text(ret, " ");
	append_slice(ret, head->target);
	buffer_format(ret, " HTTP/1.1\r\nHost: %s", target->name);
	if (target->port != (target_is_tls(target) ? 443 : 80))
		buffer_format(ret, ":%u", target->port);
	buffer_append_text(ret, "\r\n");
	if (!write_fields(target, head, has_secret, ret, ret_refusal)) {
		OPENSSL_cleanse(ret->bytes + before, ret->size - before);
		ret->size = before;
		return false;
	}
	write_framing(head, ret);
	if (has_secret)
		buffer_append_text(ret, "Accept-Encoding: identity\r\n");
	if (head->is_last)
		buffer_append_text(ret, "Connection: close\r\n");
	buffer_append_text(ret, "\r\n");
	return true;
}

/* --- answers ---------------------------------------------------------------------------------- */

bool message_is_coded(const struct head *head)
{
	for (uint32_t i = 0; i < head->field_count; i++) {
		if (head->fields[i].kind == HEAD_CONTENT_CODING &&
		    !slice_is(head->fields[i].value, "identity"))
			return true;
	}
	return false;
}

/* Append a text of an answer; a needle that goes from one to the next is none that was sent. */
static void append_redacted(struct redact *redact, struct slice text, struct buffer *ret)
{
	if (redact == NULL) {
		append_slice(ret, text);
		return;
	}
	redact_take(redact, text, ret);
	redact_end(redact, ret);
}

void message_write_answer(const struct head *head, struct redact *redact, struct buffer *ret)
{
	buffer_format(ret, "HTTP/1.1 %u ", head->status);
	append_redacted(redact, head->reason, ret);
	buffer_append_text(ret, "\r\n");
	for (uint32_t i = 0; i < head->field_count; i++) {
		const struct head_field *field = &head->fields[i];
		/* Without a body, its length is what another request would get. The length of a
		 * compressed text tells whether a guess in it is like a value in it. */
		const bool is_kept_length = field->kind == HEAD_CONTENT_LENGTH &&
					    head->framing == HEAD_NO_BODY && head->status >= 200 &&
					    head->status != 204 &&
					    (redact == NULL || !message_is_coded(head));

		if (field->kind != HEAD_PASSED && field->kind < HEAD_ACCEPT_CODING &&
		    field->kind != HEAD_HOST && !is_kept_length)
			continue;
		append_redacted(redact, field->name, ret);
		buffer_append_text(ret, ": ");
		append_redacted(redact, field->value, ret);
		buffer_append_text(ret, "\r\n");
	}
	if (head->framing == HEAD_UNTIL_CLOSE)
		buffer_append_text(ret, chunked);
	else
		write_framing(head, ret);
	if (head->is_last)
		buffer_append_text(ret, "Connection: close\r\n");
	buffer_append_text(ret, "\r\n");
}

void message_write_own(uint32_t status, const char *text, bool has_body, struct buffer *ret)
{
	buffer_format(ret,
		      "HTTP/1.1 %u %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
		      "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
		      status, status < 500 ? "Refused by msp" : "Failed at msp", strlen(text),
		      has_body ? text : "");
}

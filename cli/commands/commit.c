/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp commit`: what a sandbox has changed in its root, as one more layer of its image.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "ask/attach.h"
#include "ask/recent.h"
#include "commands/image.h"
#include "commands/sandboxes.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "frontend/profile_names.h"
#include "launcher/host/kept_layers.h"
#include "launcher/start/image_program.h"
#include "launcher/start/launch.h"
#include "lib/heap/memory.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "options/options.h"
#include "options/sandbox_search.h"

static const struct option_row rows[] = {
	OPTION_RUN_AS(struct image_options, run_as),
	OPTION_CONFIG(struct image_options, config),
};

static const char help[] =
	"Make an image of SANDBOX: its own image, and in one more layer what was changed\n"
	"in its root. Its profile must have 'image' and 'root: writable'. Environment,\n"
	"working directory and command stay those of its image. What is in /workspace,\n"
	"/tmp and /home/agent is not taken, and the sandbox stays as it is.\n"
	"\n"
	"NAME is [HOST[:PORT]/]PATH[:TAG]; it moves if another image has it. The same\n"
	"files and times over the same image give the same digest.\n"
	"\n"
	"SANDBOX is the name, the id, or the first four or more characters of the id,\n"
	"and nothing may run in it. The exit code is 0; 64 when the command line is\n"
	"wrong or there is no such sandbox; 70 when a program of msp failed; 75 while\n"
	"an msp has it, 'msp stop' ends that; 78 when its files cannot be an image, or\n"
	"there is no room for it; 125 when no supervisor could be asked for it.\n";

/* Find the sandbox that a word names. 0, or the exit code after a line. */
static int find_sandbox(const struct image_options *options, const char *word,
			struct sandbox_search *ret)
{
	static char wanted[IPC_NAME_MAX];
	const struct attach_options attach = { .config = options->config, .limits = LIMITS_UNSAID };
	int code;

	format_text(wanted, sizeof(wanted), "%s", word);
	code = recent_resolve(wanted, &recent_confirm);
	(void)sandbox_search_begin(ret, wanted); /* it may be a name */
	if (!code)
		code = sandboxes_each(&attach, false, sandbox_search_add_named, ret);
	if (code || ret->found == 1)
		return code;
	if (ret->found == 0)
		log_line("there is no sandbox '%s': 'msp list' shows them", word);
	else
		log_line("'%s' begins several ids: give more of it, 'msp list' shows them", word);
	return MSP_EXIT_USAGE;
}

/* Return the place at which sandboxes of the profile keep their root, or NULL: they do not. */
static const char *find_place(const struct plan *plan, const struct plan_profile *profile)
{
	const struct plan_mount *mounts = plan_mounts(plan, profile);

	for (uint32_t i = 0; i < profile->mount_count; i++) {
		if (mounts[i].kind == PLAN_IMAGE && mounts[i].place != 0)
			return plan_string(plan, mounts[i].place);
	}
	return NULL;
}

/* The image below a sandbox's root, and what the profile makes over it. */
struct base {
	char digest[IMAGE_DIGEST_MAX];
	char place[PLAN_PLACE_MAX];             /* the place of the root in each layer */
	char *left_out[IMAGE_LEFT_OUT_MAX + 1]; /* paths in the root; NULL at the end */
};

/* List what the profile makes in the root, but for directories, which an image may have too. */
static void list_made(const struct plan *plan, const struct plan_profile *profile, struct base *ret)
{
	const struct plan_mount *mounts = plan_mounts(plan, profile);
	char **next = ret->left_out;

	*next++ = memory_text(&PLAN_SEALED_FILE[1], strlen(&PLAN_SEALED_FILE[1]));
	for (uint32_t i = 0; i < profile->mount_count; i++) {
		const char *target = plan_string(plan, mounts[i].target) + 1; /* behind the slash */

		if (mounts[i].kind != PLAN_IMAGE && mounts[i].kind != PLAN_DIRECTORY)
			*next++ = memory_text(target, strlen(target));
	}
}

/* Find the sandbox's image. 0, or the exit code after a line. */
static int find_base(const struct image_options *options, const struct sandbox_search *sandbox,
		     struct base *ret)
{
	struct config config = CONFIG_UNREAD;
	const struct plan_profile *profile;
	const struct plan *plan;
	const char *cause;
	int code = image_read_config(options, &config);

	if (code)
		return code;
	plan = config_plan(&config);
	profile = profile_find(plan, sandbox->profile);
	cause = profile_missing(plan, sandbox->profile);
	code = MSP_EXIT_REFUSED;
	if (!profile && cause)
		log_line("the sandbox's profile %s cannot be used: %s", sandbox->profile, cause);
	else if (!profile)
		log_line("the sandbox's profile %s is gone: 'msp profile list' shows which there "
			 "are",
			 sandbox->profile);
	else if (profile->image == 0)
		log_line("the sandbox's profile %s has no image: 'msp commit' takes sandboxes of "
			 "profiles with 'image' and 'root: writable'",
			 sandbox->profile);
	else if (!find_place(plan, profile))
		log_line("the root of the sandbox's profile %s is read-only, so nothing in it can "
			 "have changed: 'msp commit' takes sandboxes of profiles with 'root: "
			 "writable'",
			 sandbox->profile);
	else
		code = 0;
	if (!code) {
		format_text(ret->digest, sizeof(ret->digest), "%s",
			    plan_string(plan, profile->image));
		format_text(ret->place, sizeof(ret->place), "%s", find_place(plan, profile));
		list_made(plan, profile, ret);
	}
	config_close(&config);
	return code;
}

/* --- the new layer ---------------------------------------------------------------------------- */

/* Put a layer on top; where the image has the same one further down, that goes: what it shows, the
 * upper one shows too. */
static void add_layer(struct image *image, const struct image_report *report)
{
	struct image_layer *layer;
	uint32_t kept = 0;

	for (uint32_t i = 0; i < image->layer_count; i++) {
		if (strcmp(image->layers[i].diff_id, report->digest) != 0)
			image->layers[kept++] = image->layers[i];
	}
	image->layer_count = kept;
	layer = &image->layers[image->layer_count++];
	*layer = (struct image_layer){ .bytes = report->bytes, .entries = report->entries };
	memcpy(layer->diff_id, report->digest, sizeof(layer->diff_id));
}

/* Keep the image with the layer that msp-image has packed. 0, or the exit code after a line. */
static int keep_layer(const struct image_keep *keep, struct image_arrival *arrival)
{
	int error;

	if (arrival->report.digest[0] == '\0') {
		everywhere_note("nothing in the sandbox's root has changed: %s is its image",
				arrival->name);
		return 0;
	}
	add_layer(&arrival->image, &arrival->report);
	error = image_commit_packed(keep, &arrival->image);
	return error ? image_tell_unkept(error, arrival->image.digest) : 0;
}

/* Commit, in a store that is locked and without leftovers. */
static int commit_layers(const struct image_keep *keep, const struct kept_layers *layers,
			 const struct base *base, const struct image_options *options,
			 struct image_arrival *arrival)
{
	uint64_t most;
	const int error = image_read(keep->store, base->digest, &arrival->image);
	int code;

	if (error)
		return command_fail("the sandbox's image", error);
	if (arrival->image.layer_count == IMAGE_LAYERS_MAX)
		return log_fail(MSP_EXIT_REFUSED,
				"the sandbox's image has %d layers, and no image can have more: "
				"build one with fewer, and make the changes in a sandbox of that",
				IMAGE_LAYERS_MAX);
	code = image_find_room(keep, options->disk, &most);
	if (!code)
		code = image_program_pack(keep, layers, base->place, base->left_out, most,
					  &arrival->report);
	if (!code)
		code = keep_layer(keep, arrival);
	return code ? code : image_name_arrival(keep, arrival);
}

static int tell_locked(const struct sandbox_search *sandbox, int error)
{
	const char *name = sandbox->name[0] ? sandbox->name : sandbox->id;

	if (error == -EBUSY)
		return log_fail(MSP_EXIT_AGAIN,
				"the sandbox '%s' is in use, and its files may be written: 'msp "
				"stop %s' ends what runs in it",
				name, name);
	if (error == -EBADMSG)
		log_line("the sandbox '%s' is damaged: 'msp destroy %s' removes it", name, name);
	else
		log_line("the files of the sandbox '%s' cannot be read: %s", name,
			 errno_text(-error));
	return MSP_EXIT_REFUSED;
}

static int commit_sandbox(const struct image_options *options, const char *word,
			  struct image_arrival *arrival)
{
	static struct sandbox_search sandbox;
	struct kept_layers layers;
	struct image_keep keep;
	static struct base base;
	int error;
	int code = find_sandbox(options, word, &sandbox);

	if (!code)
		code = find_base(options, &sandbox, &base);
	if (code)
		return code;
	error = kept_layers_open(sandbox.id, &layers);
	if (error) {
		code = tell_locked(&sandbox, error);
	} else {
		code = image_begin_change(&keep);
		if (!code)
			code = commit_layers(&keep, &layers, &base, options, arrival);
		code = image_end_change(&keep, code);
	}
	kept_layers_close(&layers);
	return code;
}

static int run_commit(const struct command *command, int argc, char *argv[])
{
	struct image_options options = { .is_roots = geteuid() == 0 };
	struct command_words words = { .most = 2 };
	static struct image_arrival arrival;
	static char name[IMAGE_NAME_MAX];
	int code;

	if (!command_parse_words(command, argc, argv, &options, &words, &code))
		return code;
	if (words.count < 2)
		return command_usage_error(command, words.count == 0
							    ? "a sandbox and a name are missing"
							    : "the name of the image is missing");
	if (!command_check_sandbox(command, words.list[0], &code))
		return code;
	command_name_lines(command);
	code = image_read_name(words.list[1], name);
	if (!code && strchr(name, '@'))
		code = log_fail(MSP_EXIT_USAGE,
				"'%.100s': the digest of an image follows from its files: give a "
				"name alone",
				words.list[1]);
	arrival.name = name;
	if (!code)
		code = launch_become_account(options.config, options.run_as);
	if (!code)
		code = image_set_limit(&options);
	return code ? code : commit_sandbox(&options, words.list[0], &arrival);
}

const struct command command_commit = {
	.name = "commit",
	.operands = "SANDBOX NAME[:TAG]",
	.summary = "make an image of a sandbox's root",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true, .has_recent = true },
	.run = run_commit,
};

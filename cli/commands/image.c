/* SPDX-License-Identifier: Apache-2.0
 *
 * `msp image`: the images that profiles can have as their root.
 */
#include "commands/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/text/format.h"
#include "launcher/host/state_place.h"
#include "launcher/start/config.h"
#include "launcher/start/image_program.h"
#include "launcher/start/launch.h"
#include "lib/heap/memory.h"
#include "options/command.h"
#include "options/everywhere.h"
#include "policy/read/units.h"
#include "show/figures.h"
#include "show/print.h"
#include "show/quote.h"
#include "show/rows.h"

#define DISK_MIN ((uint64_t)1 << 20)
#define DISK_MAX ((uint64_t)1 << 50)

/* The digits of a digest that people read. */
#define DIGEST_SHORT 12

static const char *set_disk(void *member, const char *value)
{
	uint64_t bytes;

	if (!units_size(value, &bytes) || bytes < DISK_MIN || bytes > DISK_MAX)
		return "a size from 1M to 1024T, such as 40G";
	*(uint64_t *)member = bytes;
	return NULL;
}

#define ROW(option, value, setter, member, text)                                                   \
	OPTION(struct image_options, option, value, setter, member, text)

static const struct option_row rows[] = {
	ROW("disk", "SIZE", set_disk, disk,
	    "import, pull: all layers together may take so much; at most, and unless given, "
	    "images.disk of the configuration"),
	ROW("json", NULL, option_set_flag, is_json, "list, show: print one JSON object"),
	OPTION_RUN_AS(struct image_options, run_as),
	OPTION_CONFIG(struct image_options, config),
};

static const char help[] =
	"Keep images of containers, for profiles with the key 'image'. No program of an\n"
	"image runs when it comes in: msp-image unpacks it, confined, and checks it.\n"
	"\n"
	"  import FILE [NAME]  take in an OCI layout or a docker-archive, as 'podman\n"
	"                      save' or 'skopeo copy' writes it: a file, a directory, or\n"
	"                      '-' for a pipe\n"
	"  pull REFERENCE      have skopeo fetch an image of a registry, and import it\n"
	"  list                print the images with their sizes\n"
	"  show IMAGE          print what an image says about itself\n"
	"  remove IMAGE        remove a name; with its last name, or called by its\n"
	"                      digest, the image goes, and layers that no other has\n"
	"  prune               remove images without a name\n"
	"\n"
	"NAME is [HOST[:PORT]/]PATH[:TAG], such as python:3.12; without one, the names\n"
	"that the image says are taken, if no other image has them. IMAGE is a name, a\n"
	"digest, or four or more of its first digits. An image that a running msp uses\n"
	"is not removed.\n"
	"\n"
	"The exit code is 0; 64 when the command line is wrong or there is no such\n"
	"image; 75 while it is used; 78 when the image, or the room for it, is refused.\n";

/* Open the directory of images, or make it. A descriptor; -1 after a line; -ENOENT: there is none,
 * and it was not to be made. */
static int open_store(bool is_made)
{
	char path[IPC_PATH_MAX], text[STATE_PLACE_TEXT_MAX];
	const int fd = state_place_enter(STATE_PLACE_IMAGES, is_made, path, text);

	return fd >= 0 || (fd == -ENOENT && !is_made) ? fd : log_fail(-1, "%s", text);
}

int image_begin_change(struct image_keep *keep)
{
	int error;

	*keep = (struct image_keep){ -1, -1, -1, -1 };
	keep->store = open_store(true);
	if (keep->store < 0)
		return MSP_EXIT_REFUSED;
	error = image_keep_begin(keep, false);
	if (error == -EWOULDBLOCK) {
		everywhere_note("another command changes the images: this one waits for it");
		error = image_keep_begin(keep, true);
	}
	if (!error)
		error = image_collect(keep);
	return error ? command_fail("the images cannot be changed", error)
		     : image_program_clean(keep);
}

int image_end_change(struct image_keep *keep, int code)
{
	int error = 0, cleaned = 0;

	if (keep->lock >= 0) {
		error = image_collect(keep);
		cleaned = image_program_clean(keep);
	}
	fd_close(&keep->layers);
	fd_close(&keep->incoming);
	fd_close(&keep->lock);
	fd_close(&keep->store);
	if (error && !code)
		code = command_fail("layers cannot be removed", error);
	return code ? code : cleaned;
}

/* --- list ------------------------------------------------------------------------------------- */

/* An image with one of its names, or "". */
struct row {
	struct image_entry entry;
	uint32_t layers;
	uint64_t bytes;
};

struct listing {
	int store;
	struct row *rows;
	size_t count, room;
	struct image image;
};

static int add_row(struct listing *listing, const char *name, const char *digest)
{
	const int error = image_read(listing->store, digest, &listing->image);
	struct row *row;

	listing->rows =
		memory_grow_list(listing->rows, &listing->room, listing->count + 1, sizeof(*row));
	row = &listing->rows[listing->count++];
	*row = (struct row){ .layers = error ? 0 : listing->image.layer_count };
	format_text(row->entry.name, sizeof(row->entry.name), "%s", name);
	memcpy(row->entry.digest, digest, sizeof(row->entry.digest));
	for (uint32_t i = 0; i < row->layers; i++)
		row->bytes += listing->image.layers[i].bytes;
	return 0;
}

static int add_named(void *context, const struct image_entry *entry)
{
	return add_row(context, entry->name, entry->digest);
}

static bool is_listed(const struct listing *listing, const char *digest)
{
	for (size_t i = 0; i < listing->count; i++) {
		if (strcmp(listing->rows[i].entry.digest, digest) == 0)
			return true;
	}
	return false;
}

static int add_unnamed(void *context, const struct image_entry *entry)
{
	return is_listed(context, entry->digest) ? 0 : add_row(context, "", entry->digest);
}

static int compare_rows(const void *left, const void *right)
{
	const struct row *one = left, *other = right;
	const int order = strcmp(one->entry.name, other->entry.name);

	return order ? order : strcmp(one->entry.digest, other->entry.digest);
}

/* List all names and then all images without one, sorted. 0 or -errno. */
static int list_images(int store, struct listing *ret)
{
	int error;

	ret->store = store;
	error = image_each_name(store, add_named, ret);
	if (!error)
		error = image_each_digest(store, add_unnamed, ret);
	if (ret->count > 0)
		qsort(ret->rows, ret->count, sizeof(ret->rows[0]), compare_rows);
	return error;
}

static void put_digest(struct json_writer *json, const char *key, const char *digest)
{
	char text[sizeof(IMAGE_DIGEST_PREFIX) + IMAGE_DIGEST_MAX];

	format_text(text, sizeof(text), IMAGE_DIGEST_PREFIX "%s", digest);
	json_put_text(json, key, text);
}

/* Give the cells or members of an image. */
static void put_row(struct rows *shown, const struct row *row)
{
	char text[FIGURES_TEXT_MAX];

	rows_next(shown);
	rows_text(shown, "NAME", NULL, row->entry.name);
	format_text(text, sizeof(text), "%.*s", DIGEST_SHORT, row->entry.digest);
	rows_cell(shown, "DIGEST", text);
	format_text(text, sizeof(text), "%6u", row->layers);
	rows_cell(shown, "LAYERS", text);
	rows_cell(shown, "SIZE", row->layers ? figures_bytes(row->bytes, text) : "damaged");
	if (!shown->json)
		return;
	json_put_text_or_null(shown->json, "name", row->entry.name);
	put_digest(shown->json, "digest", row->entry.digest);
	json_put_number(shown->json, "layers", row->layers);
	json_put_number(shown->json, "bytes", row->bytes);
}

static int print_list(const struct listing *listing, bool is_json)
{
	static struct rows shown;
	uint64_t used = 0;

	shown.is_json = is_json;
	rows_begin(&shown, "images");
	for (size_t i = 0; i < listing->count; i++) {
		const struct image_entry *entry = &listing->rows[i].entry;

		if (!is_json && everywhere.is_quiet)
			(void)puts(entry->name[0] ? entry->name : entry->digest);
		else
			put_row(&shown, &listing->rows[i]);
	}
	rows_end(&shown);
	if (is_json) {
		(void)image_used(listing->store, &used); /* 0 is shown if it cannot be read */
		json_put_number(shown.json, "bytes", used);
	}
	return rows_finish(&shown);
}

static int run_list(const struct image_options *options, char *const words[])
{
	static struct listing listing;
	int store = open_store(false);
	int error;

	if (store == -1)
		return MSP_EXIT_REFUSED;
	error = store < 0 ? 0 : list_images(store, &listing);
	if (error) {
		fd_close(&store);
		return command_fail("the images cannot be listed", error);
	}
	listing.store = store;
	error = print_list(&listing, options->is_json);
	fd_close(&store);
	if (error)
		return command_fail("standard output", error);
	if (listing.count == 0)
		everywhere_note("there is no image: 'msp image pull' or 'msp image import' brings "
				"one");
	return 0;
}

/* --- show ------------------------------------------------------------------------------------- */

static int add_name(void *context, const struct image_entry *entry)
{
	struct image_names *names = context;
	if (strcmp(entry->digest, names->digest) != 0)
		return 0;
	names->list =
		memory_grow_list(names->list, &names->room, names->count + 1, sizeof(*names->list));
	memcpy(names->list[names->count++], entry->name, sizeof(entry->name));
	return 0;
}

static int compare_names(const void *left, const void *right)
{
	return strcmp(left, right);
}

int image_list_names(int store, const char *digest, struct image_names *ret)
{
	int error;

	*ret = (struct image_names){ .digest = digest };
	error = image_each_name(store, add_name, ret);
	if (ret->count > 0)
		qsort(ret->list, ret->count, sizeof(ret->list[0]), compare_names);
	return error;
}

static void print_words(const char *title, const struct image_words *words)
{
	for (uint32_t i = 0; i < words->count; i++) {
		(void)printf("%-12s ", i == 0 ? title : "");
		quote_print_text(words->list[i], strlen(words->list[i]), true);
		(void)printf("\n");
	}
}

static void print_image(const struct image *image, const struct image_names *names)
{
	static const char *const kinds[IMAGE_DIGEST_KIND_COUNT] = {
		[IMAGE_DIGEST_CONFIG] = "of the configuration",
		[IMAGE_DIGEST_MANIFEST] = "of the manifest",
		[IMAGE_DIGEST_COMMIT] = "of layers and configuration, by msp commit",
	};
	char size[FIGURES_TEXT_MAX];

	for (size_t i = 0; i < names->count; i++)
		(void)printf("%-12s %s\n", i == 0 ? "name" : "", names->list[i]);
	(void)printf("%-12s " IMAGE_DIGEST_PREFIX "%s, %s\n", "digest", image->digest,
		     kinds[image->digest_kind]);
	for (uint32_t i = 0; i < image->layer_count; i++)
		(void)printf("%-12s " IMAGE_DIGEST_PREFIX "%s, %s\n", i == 0 ? "layers" : "",
			     image->layers[i].diff_id, figures_bytes(image->layers[i].bytes, size));
	print_words("environment", &image->environment);
	(void)printf("%-12s ", "cwd");
	quote_print_text(image->cwd, strlen(image->cwd), true);
	(void)printf("\n");
	print_words("entrypoint", &image->entrypoint);
	print_words("command", &image->command);
}

static void put_words(struct json_writer *json, const char *key, const struct image_words *words)
{
	json_open_array(json, key);
	for (uint32_t i = 0; i < words->count; i++)
		json_put_text(json, NULL, words->list[i]);
	json_close_array(json);
}

static int print_image_json(const struct image *image, const struct image_names *names)
{
	struct json_writer *writer = json_begin_object();

	json_open_array(writer, "names");
	for (size_t i = 0; i < names->count; i++)
		json_put_text(writer, NULL, names->list[i]);
	json_close_array(writer);
	put_digest(writer, "digest", image->digest);
	json_open_array(writer, "layers");
	for (uint32_t i = 0; i < image->layer_count; i++) {
		json_open_object(writer, NULL);
		put_digest(writer, "diff_id", image->layers[i].diff_id);
		json_put_number(writer, "bytes", image->layers[i].bytes);
		json_put_number(writer, "entries", image->layers[i].entries);
		json_close_object(writer);
	}
	json_close_array(writer);
	put_words(writer, "environment", &image->environment);
	json_put_text(writer, "cwd", image->cwd);
	put_words(writer, "entrypoint", &image->entrypoint);
	put_words(writer, "command", &image->command);
	return json_finish();
}

int image_tell_unfound(int error, const char *text)
{
	return log_fail(error == -EINVAL || error == -ENOENT || error == -ENOTUNIQ
				? MSP_EXIT_USAGE
				: MSP_EXIT_REFUSED,
			"%s", text);
}

static int show_image(int store, const char *wanted, bool is_json)
{
	static struct image image;
	struct image_names names;
	char text[IMAGE_TEXT_MAX];
	int error = image_find(store, wanted, &image, text);

	if (error)
		return image_tell_unfound(error, text);
	error = image_list_names(store, image.digest, &names);
	if (!error && is_json) {
		error = print_image_json(&image, &names);
	} else if (!error) {
		print_image(&image, &names);
		error = print_flush();
	}
	free(names.list);
	return error ? command_fail("the image cannot be shown", error) : 0;
}

static int run_show(const struct image_options *options, char *const words[])
{
	int store = open_store(true);
	const int code =
		store < 0 ? MSP_EXIT_REFUSED : show_image(store, words[0], options->is_json);

	fd_close(&store);
	return code;
}

/* --- the command ------------------------------------------------------------------------------ */

static const struct action {
	struct command_action is;
	int (*run)(const struct image_options *options, char *const words[]);
} actions[] = {
	{ { "import", 1, 2, "import takes FILE, DIR or -, and a NAME if it shall have another" },
	  image_run_import },
	{ { "pull", 1, 1, "pull takes the reference of an image, such as python:3.12" },
	  image_run_pull },
	{ { "list", 0, 0, "list takes no word" }, run_list },
	{ { "show", 1, 1, "show takes one image" }, run_show },
	{ { "remove", 1, 1, "remove takes one image" }, image_run_remove },
	{ { "prune", 0, 0, "prune takes no word" }, image_run_prune },
};

int image_read_config(const struct image_options *options, struct config *ret)
{
	char text[CONFIG_TEXT_MAX];
	int code;

	ret->given = options->config;
	ret->is_roots = options->is_roots;
	code = config_read(ret, text);
	if (code)
		log_line("%s", text);
	return code;
}

int image_set_limit(struct image_options *options)
{
	struct config config = CONFIG_UNREAD;
	char size[FIGURES_TEXT_MAX];
	uint64_t most = IMAGE_DISK_DEFAULT;
	const struct plan *plan;
	int code = image_read_config(options, &config);

	if (code)
		return code;
	plan = config_plan(&config);
	if (plan)
		most = plan_header(plan)->images_bytes;
	if (options->disk > most)
		code = log_fail(MSP_EXIT_REFUSED,
				"--disk allows more than the %s of the configuration: raise "
				"images.disk there, or leave the option out",
				figures_bytes(most, size));
	if (options->disk == 0)
		options->disk = most;
	config_close(&config);
	return code;
}

static int run_image(const struct command *command, int argc, char *argv[])
{
	struct image_options options = { .is_roots = geteuid() == 0 };
	struct command_words words = { .most = 3 };
	const struct action *action;
	int code;

	action = command_parse_action(command, argc, argv, &options, &words, &code);
	if (!action)
		return code;
	if (options.is_json && action->run != run_list && action->run != run_show)
		return command_usage_error(command, "--json is for list and show");
	command_name_lines(command);
	code = launch_become_account(options.config, options.run_as);
	if (!code && (action->run == image_run_import || action->run == image_run_pull))
		code = image_set_limit(&options);
	return code ? code : action->run(&options, words.list + 1);
}

const struct command command_image = {
	.name = "image",
	.operands = "import|pull|list|show|remove|prune ...",
	.summary = "keep images of containers for profiles",
	.help = help,
	.options = { OPTION_ROWS(rows), .has_operands = true },
	.actions = ACTION_ROWS(actions),
	.run = run_image,
};

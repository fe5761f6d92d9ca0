/* SPDX-License-Identifier: Apache-2.0
 *
 * Registries of a home: what is read of each file, what never is, and what a profile gets.
 */
#include "policy/registries/registries.h"

#include "policy/read/profile_parts.h"
#include "support.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In each file of this test; it must be nowhere in what is read. */
#define SECRET "hunter2"

#define PEM "-----BEGIN CERTIFICATE-----\nMIIB\nATCC\n-----END CERTIFICATE-----\n"

static char home[64];

static void make_home(void)
{
	(void)snprintf(home, sizeof(home), "/tmp/msp-test-registries-XXXXXX");
	cr_assert_not_null(mkdtemp(home));
}

static void remove_home(void)
{
	char line[128];

	(void)snprintf(line, sizeof(line), "rm -rf %s", home);
	cr_assert_eq(system(line), 0);
}

static const char *path_of(const char *name)
{
	static char path[256];

	(void)snprintf(path, sizeof(path), "%s/%s", home, name);
	return path;
}

/* Write a file below the home, with its directories. */
static void write_file(const char *name, const char *text)
{
	char part[256];
	FILE *file;

	for (const char *slash = strchr(name, '/'); slash; slash = strchr(slash + 1, '/')) {
		(void)snprintf(part, sizeof(part), "%s/%.*s", home, (int)(slash - name), name);
		(void)mkdir(part, 0700);
	}
	file = fopen(path_of(name), "we");
	cr_assert_not_null(file);
	cr_assert(fputs(text, file) >= 0);
	cr_assert_eq(fclose(file), 0);
	cr_assert_eq(chmod(path_of(name), 0600), 0);
}

/* All that was read of a tool, and what a sandbox gets, as one text. */
static const char *all_of(const struct registry *registry)
{
	static char text[8192];
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < registry->count; i++) {
		const struct registry_line *line = &registry->lines[i];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s|%s|%s|%u|%s\n",
					 line->name, line->value, line->host,
					 (unsigned int)line->port,
					 line->problem ? line->problem : "");
	}
	for (uint32_t i = 0; i < registry->variable_count; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s\n",
					 registry->variables[i]);
	(void)snprintf(text + used, sizeof(text) - used, "%s%s",
		       registry->file.size > 0 ? registry->file.bytes : "",
		       registry->certificates.size > 0 ? registry->certificates.bytes : "");
	return text;
}

static void expect_parts(enum registry_tool tool, const char *const *parts)
{
	struct registries *registries = registries_read(home);
	const char *all = all_of(&registries->of[tool]);

	for (; *parts; parts++)
		cr_expect(strstr(all, *parts), "%s\nis not in\n%s", *parts, all);
	cr_expect_not(strstr(all, SECRET), "%s", all);
	registries = registries_free(registries);
}

/* The files of the machine count there, too, and so does their change. */
Test(registries, without_a_home)
{
	struct registries *registries = registries_read(NULL);

	cr_assert_neq(registries->watched.bytes, NULL);
	cr_expect_str_eq(registries->watched.bytes, "/etc/pip.conf");
	cr_expect_eq(registries->of[REGISTRY_NPM].count, 0);
	registries = registries_free(registries);
}

#define EXPECT(tool, ...) expect_parts(tool, (const char *const[]){ __VA_ARGS__, NULL })

TestSuite(registries, .init = make_home, .fini = remove_home, .timeout = 60);

Test(registries, npm)
{
	write_file(".npmrc", "; a comment\n"
			     "registry = https://me:" SECRET "@npm.corp.example:8443/npm/?t=" SECRET
			     "#" SECRET "\n"
			     "//npm.corp.example:8443/npm/:_authToken=" SECRET "\n"
			     "_auth=" SECRET "\n_password = " SECRET "\n"
			     "@acme:registry=http://scoped.corp.example/\n"
			     "@acme:other=" SECRET "\nproxy=http://" SECRET "/\n"
			     "cafile=~/corp.pem\n");
	write_file("corp.pem", "comment " SECRET "\n" PEM);
	EXPECT(REGISTRY_NPM, "registry|https://npm.corp.example:8443/npm/|npm.corp.example|8443|\n",
	       "\nregistry=https://npm.corp.example:8443/npm/\n",
	       "\n@acme:registry=http://scoped.corp.example/\n", "|scoped.corp.example|80|",
	       "cafile=/etc/msp-registries/npm.pem\n", PEM);
}

Test(registries, urls_that_are_not_used)
{
	static const char *const urls[] = {
		"https://dl.corp.example/Ab3dEf6hIj9lMnOp/simple/", /* a provider's token */
		"https://dl.corp.example/npm_Ab3dEf6hIj9lMnOp/",
		"https://me:pass/" SECRET "@npm.corp.example/",
		"https://${HOST}/",
		"https://npm.corp.example/${TOKEN}/",
		"https://localhost:4873/",
		"https://127.0.0.1:4873/",
		"https://169.254.169.254/",
		"https://[::1]/",
		"https://*.corp.example/",
		"https://npm.corp.example:53/",
		"https://npm.corp.example:0/",
		"https://npm.corp.example:99999/",
		"https://npm.corp.example/a b/",
		"https://npm.corp.example/\"/",
		"file:/srv/npm",
		"ftp://npm.corp.example/",
		"https:///npm",
		"npm.corp.example",
		"",
	};

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct registries *registries;
		char text[512];

		(void)snprintf(text, sizeof(text), "registry=%s\n", urls[i]);
		write_file(".npmrc", text);
		registries = registries_read(home);
		cr_expect_not(registry_is_obeyed(&registries->of[REGISTRY_NPM]), "%s", urls[i]);
		cr_expect_eq(registries->of[REGISTRY_NPM].count, 1, "%s", urls[i]);
		cr_expect_eq(registries->of[REGISTRY_NPM].file.size, 0, "%s", urls[i]);
		cr_expect_str_empty(registries->of[REGISTRY_NPM].lines[0].value, "%s", urls[i]);
		registries = registries_free(registries);
	}
	/* The control: such a path may have numbers, and a project's UUID. */
	write_file(".npmrc", "registry=https://pkgs.corp.example/org/"
			     "0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f/_packaging/feed.v2/npm/\n");
	EXPECT(REGISTRY_NPM, "/org/0a1b2c3d-0a1b-2c3d-4e5f-0a1b2c3d4e5f/_packaging/feed.v2/npm/\n");
}

Test(registries, comments_of_npm)
{
	write_file(".npmrc", "registry=https://npm.corp.example/ ; " SECRET "\n"
			     "@acme:registry=\"https://acme.corp.example/\"\n# " SECRET "\n");
	EXPECT(REGISTRY_NPM, "\nregistry=https://npm.corp.example/\n",
	       "\n@acme:registry=https://acme.corp.example/\n");
}

Test(registries, pip)
{
	write_file(".pip/pip.conf", "[global]\nindex-url = https://old.corp.example/simple\n"
				    "extra_index_url =\n    https://" SECRET "@a.corp.example/s\n"
				    "    http://b.corp.example:8080/s\n");
	write_file(".config/pip/pip.conf",
		   "[global]\nindex-url: no\n# index-url = https://no.corp.example/\n"
		   "index-url = https://u:" SECRET "@new.corp.example/simple\n"
		   "[search]\nindex-url = https://other.corp.example/simple\n"
		   "[install]\ntrusted-host = b.corp.example:8080 c.corp.example\n"
		   "    me:" SECRET "@d.corp.example\n"
		   "cert = /nowhere/ca.pem\n");
	EXPECT(REGISTRY_PIP, "PIP_INDEX_URL=https://new.corp.example/simple\n",
	       "PIP_EXTRA_INDEX_URL=https://a.corp.example/s http://b.corp.example:8080/s\n",
	       "PIP_TRUSTED_HOST=b.corp.example:8080 c.corp.example\n",
	       "cert|||0|the file of certificates is not there\n");
	write_file(".config/pip/pip.conf", "[global]\ncert = /etc/ssl/certs/ca-certificates.crt\n");
	EXPECT(REGISTRY_PIP, "cert|||0|the sandbox has this machine's certificates by itself\n");
}

Test(registries, cargo)
{
	write_file(".cargo/config.toml",
		   "[source.crates-io]\nreplace-with = \"mirror\" # ours\n"
		   "[source.'mirror']\nregistry = \"sparse+https://u:" SECRET
		   "@crates.corp.example/index/\"\n"
		   "[source.gone]\nreplace-with = \"nowhere\"\n"
		   "[registries]\nacme = { index = \"sparse+https://acme.corp.example/\", token = "
		   "\"" SECRET "\" }\n"
		   "[registry]\ndefault = \"acme\"\ntoken = \"" SECRET "\"\n"
		   "[http]\nproxy = \"" SECRET ":1\"\n"
		   "[build]\nrustflags = [\"" SECRET "\"]\n");
	EXPECT(REGISTRY_CARGO, "\nsource.crates-io.replace-with = \"mirror\"\n",
	       "\nsource.mirror.registry = \"sparse+https://crates.corp.example/index/\"\n",
	       "\nregistries.acme.index = \"sparse+https://acme.corp.example/\"\n",
	       "\nregistry.default = \"acme\"\n");

	struct registries *registries = registries_read(home);

	cr_expect_not(strstr(registries->of[REGISTRY_CARGO].file.bytes, "nowhere"),
		      "a source that has no URL replaces none");
	registries = registries_free(registries);
}

Test(registries, go)
{
	write_file(".config/go/env",
		   "GOPROXY=https://u:" SECRET "@go.corp.example,direct|https://b.corp.example/go,"
		   "off,https://never.corp.example\n"
		   "GOPRIVATE=*.corp.example,corp.example/x\nGOSUMDB=off\nGOFLAGS=" SECRET "\n"
		   "GOAUTH=" SECRET "\n");
	EXPECT(REGISTRY_GO, "GOPROXY=https://go.corp.example,https://b.corp.example/go\n",
	       "\nGOPRIVATE=*.corp.example,corp.example/x\n", "\nGOSUMDB=off\n");
}

Test(registries, maven)
{
	write_file(".m2/settings.xml",
		   "<settings>\n<!-- <mirrors><mirror><id>no</id><url>https://no.corp.example</url>"
		   "<mirrorOf>*</mirrorOf></mirror></mirrors> -->\n"
		   "<servers><server><id>corp</id><password>" SECRET
		   "</password></server></servers>\n"
		   "<mirrors>\n <mirror>\n  <id>corp</id> <url> https://u:" SECRET
		   "@mvn.corp.example/maven2 </url>\n  <mirrorOf>*,!snap</mirrorOf>\n </mirror>\n"
		   " <mirror><id>b</id><url>https://b.corp.example</url><mirrorOf>x</mirrorOf>"
		   "<blocked>true</blocked></mirror>\n</mirrors></settings>\n");
	EXPECT(REGISTRY_MAVEN, "corp|https://mvn.corp.example/maven2|mvn.corp.example|443|\n",
	       "<mirror><id>corp</id><mirrorOf>*,!snap</mirrorOf>"
	       "<url>https://mvn.corp.example/maven2</url></mirror>\n");

	struct registries *registries = registries_read(home);

	cr_expect_eq(registries->of[REGISTRY_MAVEN].count, 1);
	registries = registries_free(registries);
}

Test(registries, files_that_do_not_count)
{
	static const char text[] = "registry=https://npm.corp.example/\n";
	char target[256];

	write_file(".npmrc", text);
	EXPECT(REGISTRY_NPM, "registry=https://npm.corp.example/\n"); /* the control */
	cr_assert_eq(chmod(path_of(".npmrc"), 0620), 0);
	EXPECT(REGISTRY_NPM, "|||0|others can change it");
	cr_assert_eq(unlink(path_of(".npmrc")), 0);
	write_file("project/.npmrc", text);
	(void)snprintf(target, sizeof(target), "%s", path_of("project/.npmrc"));
	cr_assert_eq(symlink(target, path_of(".npmrc")), 0);
	EXPECT(REGISTRY_NPM, "a link leads to it");
	write_file("project/pip/pip.conf", "[global]\nindex-url = https://pip.corp.example/\n");
	cr_assert_eq(symlink("project", path_of(".config")), 0);
	EXPECT(REGISTRY_PIP, "a link leads to it");
	cr_assert_eq(unlink(path_of(".npmrc")), 0);
	cr_assert_eq(mkfifo(path_of(".npmrc"), 0600), 0);
	EXPECT(REGISTRY_NPM, "no regular file");
}

Test(registries, certificates_alone)
{
	static const struct {
		const char *text;
		const char *problem; /* NULL: they are shown */
	} files[] = {
		{ PEM PEM, NULL },
		{ PEM "-----BEGIN PRIVATE KEY-----\nhunter\n-----END PRIVATE KEY-----\n",
		  "something else than certificates" },
		{ "-----BEGIN CERTIFICATE-----\n" SECRET "!\n-----END CERTIFICATE-----\n",
		  "a certificate that is none" },
		{ "-----BEGIN CERTIFICATE-----\nMIIEpAIBAAKC\n-----END CERTIFICATE-----\n",
		  "a certificate that is none" }, /* an RSA key's first bytes */
		{ "-----BEGIN CERTIFICATE-----\nMIIB", "a certificate that is none" },
		{ "password=" SECRET "\n", "no certificate" },
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char line[256];

		write_file("ca.pem", files[i].text);
		(void)snprintf(line, sizeof(line), "cafile=%s\n", path_of("ca.pem"));
		write_file(".npmrc", line);
		EXPECT(REGISTRY_NPM,
		       files[i].problem ? files[i].problem : "cafile=/etc/msp-registries/npm.pem");
	}
}

/* --- what profiles get ------------------------------------------------------------------------ */

static struct policy *open_policy(const char *text)
{
	struct policy_error error = { .text = "" };
	struct policy *policy = policy_new();

	policy_live_in(policy, home);
	cr_assert_eq(policy_add_builtin(policy, &error), 0, "%s", error.text);
	cr_assert_eq(policy_add(policy, "corp.yaml", text, strlen(text), &error), 0, "%s",
		     error.text);
	return policy;
}

static uint32_t count_hosts(const struct profile *profile, const char *host)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < profile->host_count; i++)
		count += strcmp(profile->hosts[i].pattern, host) == 0;
	return count;
}

struct search {
	const char *name;
	char value[256];
	uint32_t count;
};

static void take_variable(void *context, const char *variable, const struct origin *origin)
{
	struct search *search = context;
	const size_t length = strlen(search->name);

	(void)origin;
	if (strncmp(variable, search->name, length) != 0 || variable[length] != '=')
		return;
	search->count++;
	(void)snprintf(search->value, sizeof(search->value), "%s", variable + length + 1);
}

static void expect_variable(const struct profile *profile, const char *name, const char *value)
{
	struct search search = { .name = name };

	profile_each_variable(profile, take_variable, &search);
	cr_expect_eq(search.count, 1, "%s of %s: %u", name, profile->name, search.count);
	cr_expect_str_eq(search.value, value);
}

#define CORP                                                                                       \
	"offer: [go-net, node-net, rust-net]\n"                                                    \
	"%s"                                                                                       \
	"profiles:\n"                                                                              \
	"  - {name: both, extends: go-net, hosts: ['@go', '@npm', go.corp.example]}\n"             \
	"  - {name: more, extends: go-net, hosts: ['+', go.corp.example, '@npm']}\n"               \
	"  - {name: none, extends: go-net, hosts: [example.org]}\n"                                \
	"  - {name: own, extends: go-net, environment: [GOPROXY=https://mine.example]}\n"

static void write_corp(void)
{
	write_file(".config/go/env", "GOPROXY=https://go.corp.example\n");
	write_file(".npmrc", "registry=https://npm.corp.example/\n");
	write_file(".cargo/config.toml",
		   "[registries]\nacme.index = \"https://c.corp.example/\"\n");
}

Test(registries, a_group_brings_them)
{
	struct policy *policy;
	const struct profile *profile;
	char text[1024];

	write_corp();
	(void)snprintf(text, sizeof(text), CORP, "");
	policy = open_policy(text);
	profile = policy_find(policy, "go-net");
	cr_expect_eq(count_hosts(profile, "go.corp.example"), 1);
	cr_expect_eq(count_hosts(profile, "npm.corp.example"), 0, "without its group");
	expect_variable(profile, "GOPROXY", "https://go.corp.example");
	profile = policy_find(policy, "both");
	cr_expect_eq(count_hosts(profile, "go.corp.example"), 1);
	cr_expect_eq(count_hosts(profile, "npm.corp.example"), 1);
	expect_variable(profile, "npm_config_globalconfig", "/etc/msp-registries/npmrc");
	profile = policy_find(policy, "none");
	cr_expect_eq(profile->host_count, 1);
	expect_variable(profile, "GOPROXY", "https://proxy.golang.org");
	profile = policy_find(policy, "own");
	cr_expect_eq(count_hosts(profile, "go.corp.example"), 1);
	expect_variable(profile, "GOPROXY", "https://mine.example");
	expect_variable(policy_find(policy, "node-net"), "npm_config_globalconfig",
			"/etc/msp-registries/npmrc");
	expect_variable(policy_find(policy, "node-dev"), "npm_config_globalconfig",
			"/usr/etc/npmrc");
	policy = policy_free(policy);
}

static bool is_private(const struct profile *profile, const char *host)
{
	for (uint32_t i = 0; i < profile->host_count; i++) {
		if (strcmp(profile->hosts[i].pattern, host) == 0)
			return profile->hosts[i].is_private;
	}
	cr_assert(false, "%s", host);
	return false;
}

Test(registries, their_own_host_may_be_private)
{
	struct policy *policy;
	char text[1024];

	write_corp();
	write_file(".npmrc", "registry=https://registry.npmjs.org/\n");
	(void)snprintf(text, sizeof(text), CORP, "");
	policy = open_policy(text);
	cr_expect(is_private(policy_find(policy, "go-net"), "go.corp.example"));
	cr_expect(is_private(policy_find(policy, "both"), "go.corp.example"), "also if listed");
	cr_expect(is_private(policy_find(policy, "more"), "go.corp.example"));
	cr_expect_eq(count_hosts(policy_find(policy, "more"), "go.corp.example"), 1);
	expect_variable(policy_find(policy, "more"), "GOPROXY", "https://go.corp.example");
	cr_expect_not(is_private(policy_find(policy, "both"), "registry.npmjs.org"));
	cr_expect_not(is_private(policy_find(policy, "node-net"), "registry.npmjs.org"));
	policy = policy_free(policy);
}

Test(registries, an_operator_leaves_them_out)
{
	struct policy *policy;
	char text[1024];

	write_corp();
	(void)snprintf(text, sizeof(text), CORP, "registries: public\n");
	policy = open_policy(text);
	cr_expect_eq(count_hosts(policy_find(policy, "go-net"), "go.corp.example"), 0);
	expect_variable(policy_find(policy, "go-net"), "GOPROXY", "https://proxy.golang.org");
	expect_variable(policy_find(policy, "node-net"), "npm_config_globalconfig",
			"/usr/etc/npmrc");
	policy = policy_free(policy);
}

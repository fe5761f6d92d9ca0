/* SPDX-License-Identifier: Apache-2.0
 *
 * Ends of terminals' outputs: a question to somebody, or a program at work.
 */
#include "io/prompt.h"

#include <criterion/criterion.h>
#include <string.h>

static const char *const prompts[] = {
	"$ ",
	"user@host:/workspace$ ",
	"\x1b[?2004h\x1b[01;32muser@host\x1b[00m:\x1b[01;34m~\x1b[00m$ ",
	"root@host:/# ",
	"a\n>>> ",
	"In [1]: ",
	"(gdb) ",
	"(Pdb) ",
	"mysql> ",
	"Password:",
	"Password: ",
	"Continue? ",
	"Continue? [Y/n] ",
	"Overwrite (y/N)",
	"\x1b]0;a title\a> ",
	"\x1b]0;a title\x1b\\$ ",
	"\r\x1b[K> ",
	"--More--",
	"text\r\n--More--(45%)",
	"\x1b[7m(END)\x1b[27m\x1b[K",
	"\r\x1b[K:\x1b[K",
	"\u276f ",
	"host% ",
	"\x1b[1m\x1b[7m%\x1b[27m\x1b[1m\x1b[0m      \r \rhost% \x1b[K",
	"?",
};

static const char *const others[] = {
	"",
	"\n",
	"done\n",
	"Password:\n",
	"$ \r\n",
	"Building... ",
	"checking for gcc... ",
	"tests/test_a.py .....",
	"\r[1/2] Building C object a.o\x1b[K",
	"   Compiling a v0.1.0\r",
	"\r    Building [=====>      ] 12/300",
	"\r [=====>      ]",
	"\r  0%|          | 0/9 [00:00<?, ?it/s]",
	" 45%",
	"\r 45%",
	"\r##############",
	"\r=======>",
	"\x1b[32m",
	"\x1b",
	"\x1b[",
	"\x1b]0;a title: ",
	"Receiving objects:  45% (123/456)\r",
	"   ",
};

Test(prompt, a_question_is_one)
{
	for (size_t i = 0; i < sizeof(prompts) / sizeof(prompts[0]); i++)
		cr_expect(prompt_is_at_end(prompts[i], strlen(prompts[i])), "%s", prompts[i]);
}

Test(prompt, progress_is_none)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		cr_expect_not(prompt_is_at_end(others[i], strlen(others[i])), "%s", others[i]);
}

Test(prompt, of_any_bytes)
{
	char bytes[PROMPT_BYTES_MAX + 1];

	memset(bytes, 'a', sizeof(bytes));
	bytes[PROMPT_BYTES_MAX - 1] = ':';
	cr_expect(prompt_is_at_end(bytes, PROMPT_BYTES_MAX));
	cr_expect_not(prompt_is_at_end(bytes, PROMPT_BYTES_MAX + 1), "more than are looked at");
	for (int byte = 0; byte < 256; byte++) {
		memset(bytes, byte, sizeof(bytes));
		(void)prompt_is_at_end(bytes, PROMPT_BYTES_MAX);
		bytes[0] = '\x1b';
		(void)prompt_is_at_end(bytes, PROMPT_BYTES_MAX);
	}
}

// SPDX-License-Identifier: MIT
/*
 * Run by the build: ipclift-json(5), whose text before the list of fields is in
 * the file that is named, or with --schema the JSON schema; both from
 * inspect/rows.c. Not part of the command.
 */
#include <stdio.h>
#include <string.h>

#include "inspect/rows.h"
#include "object/control.h"

static const char *type_of(const struct column *f)
{
	switch (f->kind) {
	case COLUMN_NUMBER:
	case COLUMN_INDEX:
	case COLUMN_U16:
	case COLUMN_U32:
	case COLUMN_S32:
	case COLUMN_U64:
	case COLUMN_S64:
	case COLUMN_OR_NULL:
	case COLUMN_PEER:
	case COLUMN_PROCESS:
	case COLUMN_AGE:
		return "number";
	case COLUMN_BOOL:
		return "boolean";
	case COLUMN_ROWS:
		return "array";
	case COLUMN_OBJECT:
	case COLUMN_MAP:
		return "object";
	default:
		return "string";
	}
}

/* What stands between a field's name and those in it. */
static const char *inside_of(const struct column *f)
{
	return f->kind == COLUMN_ROWS  ? "[]."
	       : f->kind == COLUMN_MAP ? ".NAME."
				       : ".";
}

static void roff(const char *s)
{
	for (; *s; s++)
		printf(*s == '-' ? "\\-" : *s == '\\' ? "\\e" : "%c", *s);
}

static void page_fields(const struct column *f, const char *prefix)
{
	char inner[128];

	for (; f->field; f++) {
		if (f->kind == COLUMN_INCLUDE)
			page_fields(f->of, prefix);
		if (f->kind == COLUMN_INCLUDE || !f->about)
			continue;
		printf(".TP\n.BR %s%s \" (%s)\"\n", prefix, f->field,
			type_of(f));
		roff(f->about);
		puts("");
		if (!f->of)
			continue;
		snprintf(inner, sizeof(inner), "%s%s%s", prefix, f->field,
			inside_of(f));
		page_fields(f->of, inner);
	}
}

static void page(void)
{
	unsigned i;

	for (i = 0; i < n_row_types; i++) {
		printf(".SS ipclift %s\n%s\n", row_types[i].command,
			row_types[i].array ? "An array of objects."
					   : "An object.");
		page_fields(row_types[i].columns, "");
	}
	puts(".SS ipclift get\nAn object; those that were asked for.");
	for (i = 0; i < n_controls; i++) {
		printf(".TP\n.BR %s \" (number)\"\n", controls[i].name);
		roff(controls[i].about);
		puts("");
	}
}

static void schema_object(const struct column *f);

static void schema_type(const struct column *f)
{
	printf("{\"type\": [\"%s\", \"null\"], \"description\": \"%s\"",
		type_of(f), f->about);
	if (f->of) {
		printf(", %s", f->kind == COLUMN_ROWS  ? "\"items\": {"
			       : f->kind == COLUMN_MAP ? "\"additionalPropertie"
							 "s\": {"
						       : "");
		schema_object(f->of);
		printf("%s", f->kind == COLUMN_OBJECT ? "" : "}");
	}
	printf("}");
}

static const char *schema_fields(const struct column *f, const char *between)
{
	for (; f->field; f++) {
		if (f->kind == COLUMN_INCLUDE)
			between = schema_fields(f->of, between);
		if (f->kind == COLUMN_INCLUDE || !f->about)
			continue;
		printf("%s\"%s\": ", between, f->field);
		schema_type(f);
		between = ",\n";
	}
	return between;
}

static void schema_object(const struct column *f)
{
	printf("\"properties\": {\n");
	schema_fields(f, "");
	printf("}, \"additionalProperties\": false");
}

static void schema(void)
{
	unsigned i;

	puts("{\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n"
	     "\"description\": \"by command: see ipclift-json(5)\", \"$defs\": "
	     "{");
	for (i = 0; i < n_row_types; i++) {
		printf("\"%s\": {\"type\": \"%s", row_types[i].command,
			row_types[i].array ? "array\", \"items\": {"
					   : "object\", ");
		schema_object(row_types[i].columns);
		printf("%s,\n", row_types[i].array ? "}}" : "}");
	}
	puts("\"get\": {\"type\": \"object\", \"properties\": {");
	for (i = 0; i < n_controls; i++)
		printf("%s\"%s\": {\"type\": \"number\", \"description\": "
		       "\"%s\"}",
			i ? ",\n" : "", controls[i].name, controls[i].about);
	puts("}, \"additionalProperties\": false}}}");
}

int main(int argc, char **argv)
{
	FILE *head;
	int c;

	if (argc == 2 && !strcmp(argv[1], "--schema")) {
		schema();
		return 0;
	}
	head = argc == 2 ? fopen(argv[1], "re") : NULL;
	if (!head)
		return 1;
	while ((c = getc(head)) != EOF)
		putchar(c);
	fclose(head);
	page();
	return 0;
}

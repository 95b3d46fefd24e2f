//! Programs in C: what the language and its library owe, in WebAssembly as natively.

use crate::conformance::case::{
    Case, Ending, Error, Expected, Given, NOTHING, SILENT, Text, c, has, printed, reads, told,
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "c: numbers of standard input",
        given: reads("12 0x1F -3.5e1 rest\n1 2 3\n\n40"),
        programs: &[c("#include <stdio.h>\nint main(void) {\nint a, b;\ndouble d;\nchar word[16];\n\
                         int read = scanf(\"%d %i %lf %15s\", &a, &b, &d, word);\n\
                         printf(\"%d: %d %d %.3f %s\\n\", read, a, b, d, word);\nint more, count = 0, sum = 0;\n\
                         while (scanf(\"%d\", &more) == 1) { sum += more; count++; }\n\
                         printf(\"%d numbers, %d, %d\\n\", count, sum, feof(stdin) != 0);\nreturn 0;\n}\n")],
        expected: printed("4: 12 31 -35.000 rest\n4 numbers, 46, 1\n"),
    },
    Case {
        name: "c: lines of standard input",
        given: reads("first\nthe second line\n\nlast"),
        programs: &[c("#define _GNU_SOURCE\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
                         int main(void) {\nchar line[8];\nfgets(line, sizeof line, stdin);\n\
                         line[strcspn(line, \"\\n\")] = 0;\nprintf(\"[%s]\\n\", line);\nchar *whole = NULL;\n\
                         size_t room = 0;\nssize_t length;\n\
                         while ((length = getline(&whole, &room, stdin)) != -1) printf(\"%d [%.*s]\\n\", (int)length, (int)strcspn(whole, \"\\n\"), whole);\n\
                         free(whole);\nprintf(\"%d\\n\", getchar() == EOF);\n}\n")],
        expected: printed("[first]\n16 [the second line]\n1 []\n4 [last]\n1\n"),
    },
    Case {
        name: "c: bytes of standard input",
        given: reads("abc 123\tü!\n"),
        programs: &[c("#include <ctype.h>\n#include <stdio.h>\nint main(void) {\n\
                         int letters = 0, digits = 0, spaces = 0, others = 0, byte;\nwhile ((byte = getchar()) != EOF) {\n\
                         if (isalpha(byte)) letters++; else if (isdigit(byte)) digits++; else if (isspace(byte)) spaces++; else others++;\n\
                         }\nprintf(\"%d %d %d %d\\n\", letters, digits, spaces, others);\n}\n")],
        expected: printed("3 3 3 3\n"),
    },
    Case {
        name: "c: no standard input",
        given: NOTHING,
        programs: &[c("#include <stdio.h>\nint main(void) {\nint n = -1;\nint read = scanf(\"%d\", &n);\n\
                         printf(\"%d %d %d\\n\", read, n, feof(stdin) != 0);\n}\n")],
        expected: printed("-1 -1 1\n"),
    },
    Case {
        name: "c: arguments",
        given: Given { args: &["one", "", "two words", "ü☃", "-x"], ..NOTHING },
        programs: &[c("#include <stdio.h>\n#include <string.h>\nint main(int argc, char **argv) {\n\
                         printf(\"%d %s %d\\n\", argc, strrchr(argv[0], '/') + 1, argv[argc] == NULL);\n\
                         for (int i = 1; i < argc; i++) printf(\"%d [%s] %d\\n\", i, argv[i], (int)strlen(argv[i]));\n}\n")],
        expected: printed("6 main 1\n1 [one] 3\n2 [] 0\n3 [two words] 9\n4 [ü☃] 5\n5 [-x] 2\n"),
    },
    Case {
        name: "c: options of the command line",
        given: Given { args: &["-a", "-b", "value", "-c", "file"], ..NOTHING },
        programs: &[c("#include <stdio.h>\n#include <unistd.h>\nint main(int argc, char **argv) {\nint option;\n\
                         while ((option = getopt(argc, argv, \"ab:c\")) != -1) printf(\"%c=%s \", option, option == 'b' ? optarg : \"\");\n\
                         printf(\"rest %s\\n\", argv[optind]);\n}\n")],
        expected: printed("a= b=value c= rest file\n"),
    },
    Case {
        name: "c: environment",
        given: Given { env: &["GREETING=grüß dich", "EMPTY="], ..NOTHING },
        programs: &[c("#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n\
                         const char *missing = getenv(\"MISSING\");\n\
                         printf(\"%s|%s|%s|%s\\n\", getenv(\"GREETING\"), getenv(\"EMPTY\"), missing ? missing : \"none\", getenv(\"HOME\"));\n\
                         setenv(\"ADDED\", \"here\", 1);\nunsetenv(\"GREETING\");\n\
                         printf(\"%s %d\\n\", getenv(\"ADDED\"), getenv(\"GREETING\") == NULL);\n}\n")],
        expected: printed("grüß dich||none|/tmp\nhere 1\n"),
    },
    Case {
        name: "c: files are read and written",
        given: has(&[("data.txt", "alpha\nbeta\n")]),
        programs: &[c(
            "#include <ctype.h>\n#include <errno.h>\n#include <stdio.h>\n#include <string.h>\nint main(void) {\n\
                         FILE *in = fopen(\"data.txt\", \"r\"), *out = fopen(\"out.txt\", \"w+\");\nint byte;\n\
                         while ((byte = fgetc(in)) != EOF) fputc(toupper(byte), out);\nfprintf(out, \"%d\\n\", 42);\n\
                         fseek(out, 6, SEEK_SET);\nchar line[16];\nprintf(\"%s\", fgets(line, sizeof line, out));\n\
                         fseek(out, 0, SEEK_END);\nprintf(\"%d\\n\", (int)ftell(out));\nfclose(in);\nfclose(out);\n\
                         FILE *missing = fopen(\"missing.txt\", \"r\");\n\
                         printf(\"%d %s\\n\", missing == NULL, strerror(errno));\nout = fopen(\"out.txt\", \"a\");\n\
                         fputs(\"more\", out);\nreturn fclose(out);\n}\n",
        )],
        expected: Expected {
            stdout: Text::Is("BETA\n14\n1 No such file or directory\n"),
            files: &[("out.txt", 18, "text/plain")],
            ..SILENT
        },
    },
    Case {
        name: "c: files by descriptor",
        given: NOTHING,
        programs: &[c("#include <fcntl.h>\n#include <stdio.h>\n#include <string.h>\n#include <sys/stat.h>\n\
                         #include <unistd.h>\nint main(void) {\n\
                         int file = open(\"new.bin\", O_CREAT | O_RDWR | O_EXCL, 0600);\n\
                         int written = (int)write(file, \"0123456789\", 10);\n\
                         printf(\"%d %d\\n\", written, (int)lseek(file, 4, SEEK_SET));\nchar part[4] = \"\";\n\
                         int length = (int)read(file, part, 3);\nprintf(\"%d %s\\n\", length, part);\nftruncate(file, 6);\n\
                         struct stat status;\nfstat(file, &status);\n\
                         printf(\"%d %d %d\\n\", (int)status.st_size, S_ISREG(status.st_mode), open(\"new.bin\", O_CREAT | O_EXCL | O_RDWR, 0600));\n\
                         close(file);\nreturn 0;\n}\n")],
        expected: Expected {
            stdout: Text::Is("10 4\n3 456\n6 1 -1\n"),
            files: &[("new.bin", 6, "application/octet-stream")],
            ..SILENT
        },
    },
    Case {
        name: "c: folders",
        given: NOTHING,
        programs: &[c("#include <dirent.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
                         #include <sys/stat.h>\n#include <unistd.h>\n\
                         int order(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }\n\
                         int main(void) {\nmkdir(\"sub\", 0755);\nfclose(fopen(\"sub/b\", \"w\"));\n\
                         fclose(fopen(\"sub/a\", \"w\"));\nrename(\"sub/b\", \"sub/c\");\nDIR *folder = opendir(\"sub\");\n\
                         char *names[8];\nint count = 0;\n\
                         for (struct dirent *entry; (entry = readdir(folder));) names[count++] = strdup(entry->d_name);\n\
                         closedir(folder);\nqsort(names, count, sizeof *names, order);\n\
                         for (int i = 0; i < count; i++) printf(\"%s \", names[i]);\nchar here[64];\n\
                         printf(\"%s\\n\", getcwd(here, sizeof here));\nremove(\"sub/a\");\nunlink(\"sub/c\");\n\
                         int removed = rmdir(\"sub\");\nprintf(\"%d %d\\n\", removed, access(\"sub\", F_OK));\n}\n")],
        expected: printed(". .. a c /box\n0 -1\n"),
    },
    Case {
        name: "c: several sources and a header",
        given: has(&[
            (
                "shapes.h",
                "#ifndef SHAPES_H\n#define SHAPES_H\n#define NAME \"shapes\"\n\
                struct rectangle { int width, height; };\nint area(const struct rectangle *r);\nextern int calls;\n\
                #endif\n",
            ),
            (
                "shapes.c",
                "#include \"shapes.h\"\nint calls = 0;\n\
                int area(const struct rectangle *r) { calls++; return r->width * r->height; }\n",
            ),
        ]),
        programs: &[c("#include <stdio.h>\n#include \"shapes.h\"\nint main(void) {\nstruct rectangle r = {3, 4};\n\
                         int size = area(&r);\nprintf(\"%d %d %s\\n\", size, calls, NAME);\narea(&r);\n\
                         printf(\"%d\\n\", calls);\n}\n")],
        expected: printed("12 1 shapes\n2\n"),
    },
    Case {
        name: "c: sources in folders",
        given: has(&[
            ("lib/one.h", "int one(void);\n"),
            (
                "lib/one.c",
                "#include \"one.h\"\nstatic int twice(int n) { return n; }\nint one(void) { return twice(2); }\n",
            ),
            ("part.inc", "int part(void) { return twice(1); }\n"),
        ]),
        programs: &[c("#include <stdio.h>\n#include \"lib/one.h\"\nstatic int twice(int n) { return one() * n; }\n\
                         #include \"part.inc\"\nint main(void) { printf(\"%d %d\\n\", twice(21), part()); }\n")],
        expected: printed("42 2\n"),
    },
    Case {
        name: "c: printf",
        given: NOTHING,
        programs: &[c("#include <stddef.h>\n#include <stdio.h>\nint main(void) {\n\
                         printf(\"[%d][%5d][%-5d][%05d][%+d][% d]\\n\", 42, 42, 42, 42, 42, 42);\n\
                         printf(\"[%u][%o][%x][%X][%#x][%#o]\\n\", 4000000000u, 8, 255, 255, 255, 8);\n\
                         printf(\"[%f][%.2f][%8.3f][%-8.1f|][%e][%g][%g][%G]\\n\", 3.14159, 2.5, 2.5, 2.5, 12345.678, 1e-5, 1e6, 1e-10);\n\
                         printf(\"[%s][%10s][%-10s][%.2s][%c][%%]\\n\", \"text\", \"text\", \"text\", \"text\", 'c');\n\
                         printf(\"[%*d][%.*f][%hhd][%hd][%lld][%zu][%td]\\n\", 6, 7, 3, 1.0, (signed char)300, (short)70000, 1234567890123LL, (size_t)9, (ptrdiff_t)-3);\n\
                         int n = 0;\nprintf(\"%s%n\", \"12345\", &n);\nprintf(\" %d %a\\n\", n, 1.0);\n\
                         printf(\"%.0f %.0f %.0f %.3g %#.3g %f %f\\n\", 0.5, 1.5, 2.5, 1234567.0, 1.0, 1.0 / 0.0, -1.0 / 0.0);\n\
                         }\n")],
        expected: printed(
            "[42][   42][42   ][00042][+42][ 42]\n[4000000000][10][ff][FF][0xff][010]\n\
            [3.141590][2.50][   2.500][2.5     |][1.234568e+04][1e-05][1e+06][1E-10]\n\
            [text][      text][text      ][te][c][%]\n[     7][1.000][44][4464][1234567890123][9][-3]\n\
            12345 5 0x1p+0\n0 2 2 1.23e+06 1.00 inf -inf\n",
        ),
    },
    Case {
        name: "c: integers of 64 bits",
        given: NOTHING,
        programs: &[c("#include <inttypes.h>\n#include <limits.h>\n#include <stdint.h>\n#include <stdio.h>\n\
                         int main(void) {\nint64_t a = INT64_MAX;\nuint64_t b = UINT64_MAX;\n\
                         printf(\"%\" PRId64 \" %\" PRIu64 \" %\" PRIx64 \"\\n\", a, b, b / 255);\n\
                         long long product = 3000000000LL * 3;\n\
                         printf(\"%lld %lld %lld\\n\", product, product % 7, -7LL / 2);\n\
                         uint64_t hash = 14695981039346656037u;\n\
                         for (const char *p = \"hello\"; *p; p++) hash = (hash ^ (unsigned char)*p) * 1099511628211u;\n\
                         printf(\"%016\" PRIx64 \"\\n\", hash);\n\
                         printf(\"%d %d %lld\\n\", INT_MAX, (int)sizeof(long long), LLONG_MIN);\n}\n")],
        expected: printed(
            "9223372036854775807 18446744073709551615 101010101010101\n9000000000 5 -3\na430d84680aabd0b\n\
            2147483647 8 -9223372036854775808\n",
        ),
    },
    Case {
        name: "c: unsigned overflow and shifts",
        given: NOTHING,
        programs: &[c(
            "#include <stdint.h>\n#include <stdio.h>\nint main(void) {\nunsigned zero = 0;\nuint8_t byte = 250;\n\
                         byte += 10;\nprintf(\"%u %u %u\\n\", zero - 1, byte, (uint16_t)-1);\n\
                         printf(\"%d %u %d\\n\", -8 >> 1, 1u << 31, (int8_t)200);\n\
                         printf(\"%d %d %d\\n\", -7 / 2, -7 % 2, 7 % -2);\n\
                         printf(\"%d %d %d %d\\n\", __builtin_popcount(255), __builtin_clz(1), __builtin_ctz(8), ~5 & 0xf);\n\
                         }\n",
        )],
        expected: printed("4294967295 4 65535\n-4 2147483648 -56\n-3 -1 1\n8 31 3 10\n"),
    },
    Case {
        name: "c: structs, unions, bit fields",
        given: NOTHING,
        programs: &[c("#include <stddef.h>\n#include <stdio.h>\n#include <string.h>\n\
                         struct date { unsigned day : 5, month : 4, year : 12; };\n\
                         union number { float f; unsigned bits; unsigned char bytes[4]; };\nstruct point { int x, y; };\n\
                         enum color { RED, GREEN = 5, BLUE };\nint main(void) {\nstruct date d = {31, 12, 1999};\n\
                         d.day += 1;\nprintf(\"%u-%u-%u %d\\n\", d.year, d.month, d.day, (int)sizeof d);\n\
                         union number n = {.f = 1.5f};\n\
                         printf(\"%08x %02x %d %d\\n\", n.bits, n.bytes[3], BLUE, (int)offsetof(struct point, y));\n\
                         struct point grid[2][2] = {{{1, 2}, {3, 4}}, [1] = {[1] = {.y = 9}}};\n\
                         struct point copy = grid[0][1];\ncopy.x *= 10;\n\
                         printf(\"%d %d %d %d %d\\n\", grid[0][1].x, copy.x, grid[1][1].y, grid[1][0].x, memcmp(&grid[0][0], &(struct point){1, 2}, sizeof copy));\n\
                         }\n")],
        expected: printed("1999-12-0 4\n3fc00000 3f 6 4\n3 30 9 0 0\n"),
    },
    Case {
        name: "c: function pointers, variable arguments, recursion",
        given: NOTHING,
        programs: &[c("#include <stdarg.h>\n#include <stdio.h>\nstatic int add(int a, int b) { return a + b; }\n\
                         static int times(int a, int b) { return a * b; }\n\
                         static int fold(int (*f)(int, int), int start, int count, ...) {\nva_list rest;\n\
                         va_start(rest, count);\nfor (int i = 0; i < count; i++) start = f(start, va_arg(rest, int));\n\
                         va_end(rest);\nreturn start;\n}\nstatic void say(const char *format, ...) {\nva_list rest;\n\
                         va_start(rest, format);\nvprintf(format, rest);\nva_end(rest);\n}\n\
                         static int ackermann(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ackermann(m - 1, 1) : ackermann(m - 1, ackermann(m, n - 1)); }\n\
                         int main(void) {\nint (*table[])(int, int) = {add, times};\n\
                         for (int i = 0; i < 2; i++) printf(\"%d \", fold(table[i], i, 4, 1, 2, 3, 4));\n\
                         say(\"%s %.1f %lld %c\\n\", \"mixed\", 2.5, 1LL << 40, 'x');\nprintf(\"%d\\n\", ackermann(2, 9));\n\
                         }\n")],
        expected: printed("10 24 mixed 2.5 1099511627776 x\n21\n"),
    },
    Case {
        name: "c: strings",
        given: NOTHING,
        programs: &[c(
            "#include <ctype.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint main(void) {\n\
                         char text[64] = \"the quick brown fox\";\n\
                         for (char *word = strtok(text, \" \"); word; word = strtok(NULL, \" \")) printf(\"%c%s.\", toupper(word[0]), word + 1);\n\
                         char other[32];\nstrcpy(other, \"abc\");\nstrcat(other, \"def\");\nstrncat(other, \"ghijk\", 2);\n\
                         printf(\"\\n%s %d %d %d\\n\", other, (int)strlen(other), strcmp(\"a\", \"b\") < 0, strncmp(\"abc\", \"abd\", 2));\n\
                         printf(\"%s %s %s %d\\n\", strchr(\"a/b/c\", '/'), strrchr(\"a/b/c\", '/'), strstr(\"haystack\", \"st\"), (int)strspn(\"123abc\", \"0123456789\"));\n\
                         memmove(other + 2, other, 4);\nprintf(\"%s\\n\", other);\nchar *copy = strdup(\"copied\");\n\
                         memset(copy, '*', 3);\n\
                         printf(\"%s %d\\n\", copy, snprintf(other, 5, \"%s\", \"longer than that\"));\n\
                         printf(\"%s\\n\", other);\nfree(copy);\n}\n",
        )],
        expected: printed("The.Quick.Brown.Fox.\nabcdefgh 8 1 0\n/b/c /c stack 3\nababcdgh\n***ied 16\nlong\n"),
    },
    Case {
        name: "c: numbers of text",
        given: NOTHING,
        programs: &[c("#include <errno.h>\n#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\nchar *end;\n\
                         int decimal = (int)strtol(\"  -42xyz\", &end, 10);\n\
                         printf(\"%d [%s] %d %d\\n\", decimal, end, (int)strtol(\"ff\", NULL, 16), (int)strtol(\"0777\", NULL, 0));\n\
                         double real = strtod(\"1.5e3abc\", &end);\n\
                         printf(\"%lld %llu %g [%s]\\n\", strtoll(\"-9000000000\", NULL, 10), strtoull(\"18446744073709551615\", NULL, 10), real, end);\n\
                         errno = 0;\nlong long most = strtoll(\"99999999999999999999\", NULL, 10);\n\
                         printf(\"%lld %d %d %g\\n\", most, errno == ERANGE, atoi(\"12cats\"), atof(\"2.25\"));\n\
                         int day, month, year;\nchar name[10];\n\
                         int found = sscanf(\"15/08/2024 name=bell;\", \"%d/%d/%d name=%9[^;]\", &day, &month, &year, name);\n\
                         printf(\"%d %d-%d-%d %s\\n\", found, year, month, day, name);\n}\n")],
        expected: printed(
            "-42 [xyz] 255 511\n-9000000000 18446744073709551615 1500 [abc]\n9223372036854775807 1 12 2.25\n\
            4 2024-8-15 bell\n",
        ),
    },
    Case {
        name: "c: mathematics",
        given: told(&["--compiler-arg=-lm"]),
        programs: &[c("#include <math.h>\n#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\n\
                         printf(\"%.10f %.10f %.10f %.10f\\n\", sqrt(2), pow(2, 0.5), sin(1), cos(1));\n\
                         printf(\"%.10f %.10f %.10f %.10f\\n\", exp(1), log(10), log2(8), atan2(1, 1));\n\
                         printf(\"%g %g %g %g %g\\n\", floor(-2.5), ceil(-2.5), round(2.5), trunc(-2.7), fmod(-7, 3));\n\
                         printf(\"%d %d %g %g\\n\", isnan(sqrt(-1)) != 0, isinf(1 / 0.0) != 0, fabs(-3.5), hypot(3, 4));\n\
                         printf(\"%.6f %.6f %g %d %.4f\\n\", tgamma(5.5), erf(0.5), cbrt(27), abs(-3), M_PI);\n\
                         int exponent;\ndouble fraction = frexp(48.0, &exponent);\n\
                         printf(\"%g %d %g %g\\n\", fraction, exponent, ldexp(0.75, 6), fmax(2, 3));\n}\n")],
        expected: printed(
            "1.4142135624 1.4142135624 0.8414709848 0.5403023059\n\
            2.7182818285 2.3025850930 3.0000000000 0.7853981634\n-3 -2 3 -2 -1\n1 1 3.5 5\n\
            52.342778 0.520500 3 3 3.1416\n0.75 6 48 3\n",
        ),
    },
    Case {
        name: "c: sorting and searching",
        given: NOTHING,
        programs: &[c("#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
                         struct entry { const char *name; int age; };\n\
                         static int by_age(const void *a, const void *b) { return ((const struct entry *)a)->age - ((const struct entry *)b)->age; }\n\
                         static int by_name(const void *a, const void *b) { return strcmp(((const struct entry *)a)->name, ((const struct entry *)b)->name); }\n\
                         int main(void) {\n\
                         struct entry all[] = {{\"cid\", 31}, {\"ann\", 45}, {\"bob\", 22}, {\"dee\", 8}};\n\
                         int count = sizeof all / sizeof *all;\nqsort(all, count, sizeof *all, by_age);\n\
                         for (int i = 0; i < count; i++) printf(\"%s \", all[i].name);\n\
                         qsort(all, count, sizeof *all, by_name);\n\
                         struct entry key = {\"bob\", 0}, *found = bsearch(&key, all, count, sizeof *all, by_name);\n\
                         key.name = \"eve\";\n\
                         printf(\"%d %d\\n\", found->age, bsearch(&key, all, count, sizeof *all, by_name) == NULL);\n}\n")],
        expected: printed("dee bob cid ann 22 1\n"),
    },
    Case {
        name: "c: dates",
        given: NOTHING,
        programs: &[c("#include <stdio.h>\n#include <time.h>\nint main(void) {\ntime_t then = 1700000000;\n\
                         struct tm parts = *gmtime(&then);\nchar text[64];\n\
                         strftime(text, sizeof text, \"%Y-%m-%d %H:%M:%S %a %j %B\", &parts);\n\
                         printf(\"%s %d %d\\n\", text, parts.tm_wday, parts.tm_yday);\n\
                         struct tm date = {.tm_year = 124, .tm_mon = 1, .tm_mday = 30};\nlong long seconds = mktime(&date);\n\
                         printf(\"%lld %d-%d\\n\", seconds, date.tm_mon + 1, date.tm_mday);\n\
                         printf(\"%s%d %g\\n\", asctime(&parts), time(NULL) > 1700000000, difftime(then + 10, then));\n}\n")],
        expected: printed(
            "2023-11-14 22:13:20 Tue 318 November 2 317\n1709251200 3-1\nTue Nov 14 22:13:20 2023\n1 10\n",
        ),
    },
    Case {
        name: "c: memory",
        given: NOTHING,
        programs: &[c("#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
                         struct node { int value; struct node *next; };\nint main(void) {\n\
                         int *numbers = malloc(4 * sizeof *numbers), *zeros = calloc(1000, sizeof *zeros);\n\
                         for (int i = 0; i < 4; i++) numbers[i] = i * i;\n\
                         numbers = realloc(numbers, 100000 * sizeof *numbers);\nnumbers[99999] = 7;\n\
                         printf(\"%d %d %d %d\\n\", numbers[3], numbers[99999], zeros[999], malloc(0) != (void *)1);\n\
                         free(numbers);\nfree(zeros);\nstruct node *head = NULL;\nfor (int i = 0; i < 5; i++) {\n\
                         struct node *node = malloc(sizeof *node);\n*node = (struct node){i, head};\nhead = node;\n}\n\
                         int sum = 0;\nwhile (head) {\nstruct node *next = head->next;\nsum = sum * 10 + head->value;\n\
                         free(head);\nhead = next;\n}\nvoid *aligned = aligned_alloc(64, 128);\n\
                         printf(\"%d %d\\n\", sum, (int)((uintptr_t)aligned % 64));\nfree(aligned);\n}\n")],
        expected: printed("9 7 0 1\n43210 0\n"),
    },
    Case {
        name: "c: jumps out of functions",
        given: NOTHING,
        programs: &[c("#include <setjmp.h>\n#include <stdio.h>\nstatic jmp_buf place;\nstatic void deep(int n) {\n\
                         if (n == 0) longjmp(place, 42);\ndeep(n - 1);\n}\nint main(void) {\nvolatile int tries = 0;\n\
                         int code = setjmp(place);\ntries++;\nif (code == 0) { puts(\"first\"); deep(10); }\n\
                         printf(\"%d after %d\\n\", code, tries);\nif (tries < 4) longjmp(place, tries * 100);\n}\n")],
        expected: printed("first\n42 after 2\n200 after 3\n300 after 4\n"),
    },
    Case {
        name: "c: signals of its own",
        given: NOTHING,
        programs: &[c("#include <signal.h>\n#include <stdio.h>\nstatic volatile sig_atomic_t seen;\n\
                         static void handler(int number) { seen += number == SIGINT ? 1 : 10; }\nint main(void) {\n\
                         signal(SIGINT, handler);\nsignal(SIGTERM, handler);\nraise(SIGINT);\nraise(SIGTERM);\n\
                         signal(SIGINT, SIG_IGN);\nraise(SIGINT);\nprintf(\"%d\\n\", (int)seen);\n}\n")],
        expected: printed("11\n"),
    },
    Case {
        name: "c: wide characters and UTF-8",
        given: NOTHING,
        programs: &[c("#include <locale.h>\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n\
                         #include <wchar.h>\nint main(void) {\nsetlocale(LC_ALL, \"C.UTF-8\");\n\
                         const char *text = \"aü漢🎉\";\nwchar_t wide[8];\nint count = (int)mbstowcs(wide, text, 8);\n\
                         printf(\"%s %d %d\\n\", text, (int)strlen(text), count);\n\
                         for (int i = 0; i < count; i++) printf(\"%x \", (unsigned)wide[i]);\nchar back[32];\n\
                         printf(\"%d %s %d\\n\", (int)wcstombs(back, wide, sizeof back), back, wcscmp(L\"abc\", L\"abd\") < 0);\n\
                         printf(\"%ls %d\\n\", L\"grüß\", (int)wcslen(L\"grüß\"));\n}\n")],
        expected: printed("aü漢🎉 10 4\n61 fc 6f22 1f389 10 aü漢🎉 1\ngrüß 4\n"),
    },
    Case {
        name: "c: what runs at the end",
        given: NOTHING,
        programs: &[c("#include <stdio.h>\n#include <stdlib.h>\nstatic void last(void) { puts(\"last\"); }\n\
                         static void before(void) { puts(\"before\"); }\n\
                         __attribute__((constructor)) static void first(void) { puts(\"first\"); }\nint main(void) {\n\
                         atexit(last);\natexit(before);\nprintf(\"no newline yet, \");\nexit(4);\n}\n")],
        expected: Expected {
            ending: Ending::Exit(4),
            stdout: Text::Is("first\nno newline yet, before\nlast\n"),
            ..SILENT
        },
    },
    Case {
        name: "c: generic code of C11",
        given: told(&["--compiler-arg=-std=c11", "--compiler-arg=-O3"]),
        programs: &[c("#include <stdalign.h>\n#include <stdbool.h>\n#include <stdio.h>\n\
                         #define name(x) _Generic((x), int: \"int\", double: \"double\", char *: \"text\", default: \"other\")\n\
                         _Static_assert(sizeof(int) == 4, \"int\");\n\
                         struct tagged { bool number; union { int n; const char *s; }; };\nint main(void) {\n\
                         struct tagged t = {true, {5}};\n\
                         printf(\"%s %s %s %s %d\\n\", name(1), name(1.0), name(\"x\"), name(1.0f), t.n);\n\
                         alignas(16) char buffer[16];\n\
                         printf(\"%d %d %s\\n\", (int)alignof(double), (int)((unsigned long long)(size_t)buffer % 16), __func__);\n\
                         int (*rows)[3] = (int[][3]){{1, 2, 3}, {4, 5, 6}};\n\
                         printf(\"%d %d\\n\", rows[1][2], (int)(sizeof *rows / sizeof **rows));\n}\n")],
        expected: printed("int double text other 5\n8 0 main\n6 3\n"),
    },
    Case {
        name: "c: macros of the command line",
        given: told(&[
            "--compiler-arg=-DNUMBER=42",
            "--compiler-arg=-DWORD=\"two words\"",
            "--compiler-arg=-D",
            "--compiler-arg=FLAG",
            "--compiler-arg=-std=c99",
            "--compiler-arg=-O0",
        ]),
        programs: &[c("#include <stdio.h>\n#define TEXT(x) #x\n#define JOIN(a, b) a##b\n#ifdef NDEBUG\n\
                         #error \"not this\"\n#endif\nint main(void) {\nint xy = NUMBER;\n\
                         printf(\"%d %s %s %d %d\\n\", JOIN(x, y), WORD, TEXT(a + b), FLAG, __LINE__);\n\
                         for (int i = 0; i < 2; i++) printf(\"%d\", i);\n\
                         printf(\"\\n%d\\n\", (int)(__STDC_VERSION__ / 100));\n}\n")],
        expected: printed("42 two words a + b 1 9\n01\n1999\n"),
    },
    Case {
        name: "c: standard error",
        given: NOTHING,
        programs: &[c("#include <stdio.h>\n#include <string.h>\n#include <errno.h>\nint main(void) {\n\
                         fprintf(stderr, \"one %d\\n\", 2);\nputs(\"out\");\nerrno = ENOENT;\nperror(\"three\");\n\
                         fputs(\"no newline\", stderr);\n}\n")],
        expected: Expected {
            stdout: Text::Is("out\n"),
            stderr: Text::Is("one 2\nthree: No such file or directory\nno newline"),
            ..SILENT
        },
    },
    Case {
        name: "c: an exit code",
        given: NOTHING,
        programs: &[c("#include <stdio.h>\nint main(void) { printf(\"bye\"); return 3; }\n")],
        expected: Expected { ending: Ending::Exit(3), stdout: Text::Is("bye"), ..SILENT },
    },
    Case {
        name: "c: an exit code of more than a byte",
        given: NOTHING,
        programs: &[c("#include <stdlib.h>\nint main(void) { exit(300); }\n")],
        expected: Expected { ending: Ending::Exit(44), ..SILENT },
    },
    Case {
        name: "c: a syntax error",
        given: NOTHING,
        programs: &[c("#include <stdio.h>\nint main(void) {\nint n = 1\nprintf(\"%d\\n\", n);\n}\n")],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("expected ‘,’ or ‘;’ before ‘printf’"),
            error: Some(Error {
                kind: "CompileError", message: "expected ‘,’ or ‘;’ before ‘printf’", line: Some(4)
            }),
            ..SILENT
        },
    },
    Case {
        name: "c: an undeclared name",
        given: NOTHING,
        programs: &[c("#include <stdio.h>\nint main(void) {\nprintf(\"%d\\n\", total);\n}\n")],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("‘total’ undeclared (first use in this function)"),
            error: Some(Error {
                kind: "CompileError",
                message: "‘total’ undeclared (first use in this function)",
                line: Some(3),
            }),
            ..SILENT
        },
    },
    Case {
        name: "c: an error of the program itself",
        given: NOTHING,
        programs: &[c(
            "#include <stdio.h>\n#if 1\n#error \"this is not ready\"\n#endif\nint main(void) { return 0; }\n",
        )],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("#error \"this is not ready\""),
            error: Some(Error { kind: "CompileError", message: "#error \"this is not ready\"", line: Some(3) }),
            ..SILENT
        },
    },
    Case {
        name: "c: a missing header",
        given: NOTHING,
        programs: &[c("#include <stdio.h>\n#include \"nowhere.h\"\nint main(void) { return 0; }\n")],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("nowhere.h: No such file or directory"),
            error: Some(Error { kind: "CompileError", message: "nowhere.h: No such file or directory", line: Some(2) }),
            ..SILENT
        },
    },
    Case {
        name: "c: no main",
        given: NOTHING,
        programs: &[c("#include <stdio.h>\nint helper(void) { return puts(\"never\"); }\n")],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("undefined reference to `main'"),
            error: Some(Error { kind: "LinkError", message: "undefined reference to `main'", line: None }),
            ..SILENT
        },
    },
    Case {
        name: "c: a function that is nowhere",
        given: NOTHING,
        programs: &[c("int elsewhere(int);\nint main(void) { return elsewhere(1); }\n")],
        expected: Expected {
            ending: Ending::Exit(1),
            stderr: Text::Has("undefined reference to `elsewhere'"),
            error: Some(Error { kind: "LinkError", message: "undefined reference to `elsewhere'", line: None }),
            ..SILENT
        },
    },
    Case {
        name: "c: an assertion",
        given: NOTHING,
        programs: &[c(
            "#include <assert.h>\n#include <stdio.h>\nint main(void) {\nputs(\"before\");\nfflush(stdout);\n\
                         int n = 3;\nassert(n == 4);\nputs(\"after\");\n}\n",
        )],
        expected: Expected {
            ending: Ending::Signal("SIGABRT"),
            stdout: Text::Is("before\n"),
            stderr: Text::Has("n == 4"),
            error: Some(Error { kind: "AssertionFailed", message: "n == 4", line: Some(7) }),
            ..SILENT
        },
    },
    Case {
        name: "c: abort",
        given: NOTHING,
        programs: &[c(
            "#include <stdio.h>\n#include <stdlib.h>\nint main(void) {\nfputs(\"before\\n\", stderr);\nabort();\n\
                         }\n",
        )],
        expected: Expected { ending: Ending::Signal("SIGABRT"), stderr: Text::Is("before\n"), ..SILENT },
    },
    Case {
        name: "c: a division by zero",
        given: NOTHING,
        programs: &[c("#include <stdio.h>\nint main(int argc, char **argv) {\nputs(\"before\");\nfflush(stdout);\n\
                         volatile int zero = argc - 1;\nreturn 5 / zero;\n}\n")],
        expected: Expected { ending: Ending::Signal("SIGFPE"), stdout: Text::Is("before\n"), ..SILENT },
    },
    Case {
        name: "c: a null pointer",
        given: NOTHING,
        programs: &[c("#include <stdio.h>\nint main(void) {\nputs(\"before\");\nfflush(stdout);\n\
                         int *volatile nowhere = NULL;\nprintf(\"%d\\n\", *nowhere);\nputs(\"after\");\n}\n")],
        expected: Expected { ending: Ending::Signal("SIGSEGV"), stdout: Text::Is("before\n"), ..SILENT },
    },
    Case {
        name: "c: recursion without end",
        given: NOTHING,
        programs: &[c("#include <stdio.h>\nstatic int deeper(volatile int n) { return deeper(n + 1) + n; }\n\
                         int main(void) {\nputs(\"before\");\nfflush(stdout);\nprintf(\"%d\\n\", deeper(0));\n}\n")],
        expected: Expected { ending: Ending::Signal("SIGSEGV"), stdout: Text::Is("before\n"), ..SILENT },
    },
];

// What PHP has elsewhere and this build is without: processes, sockets, fibers, and the extensions that build.sh does not name.

#include "missing.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "belljar.h"

// By how their names start.
static const char *const FUNCTION_FAMILIES[] = {
    "apcu_", "bz", "collator_", "curl_", "datefmt_", "deflate_", "dns_", "dom_", "enchant_", "exif_", "finfo_", "ftp_", "gmp_", "grapheme_",
    "gz", "iconv", "idn_", "image", "imap_", "inflate_", "intl", "ldap_", "libxml_", "locale_", "mb_ereg", "mb_regex", "msg_", "msgfmt_",
    "mysqli_", "normalizer_", "numfmt_", "ob_gz", "ob_iconv", "odbc_", "opcache_", "openssl_", "pcntl_", "pg_", "posix_", "proc_", "readline",
    "sem_", "session_", "shm_", "shmop_", "simplexml_", "snmp", "socket_", "sodium_", "sqlite_", "stream_socket_", "tidy_", "transliterator_",
    "utf8_to_", "xml_", "xmlwriter_", "yaml_", "zip_", "zlib_", NULL,
};

static const char *const FUNCTIONS[] = {
    "checkdnsrr", "cli_set_process_title", "dl", "exec", "fsockopen", "ftok", "gethostbyaddr", "gethostbyname", "gethostbynamel", "gethostname",
    "getmxrr", "getprotobyname", "getprotobynumber", "getrusage", "getservbyname", "getservbyport", "gettext", "mail", "mb_split",
    "mime_content_type", "net_get_interfaces", "ngettext", "openlog", "passthru", "pclose", "pfsockopen", "popen", "shell_exec", "syslog",
    "system", "sys_getloadavg", NULL,
};

static const char *const CLASS_FAMILIES[] = {
    "CURL", "Collator", "Curl", "DOM", "Dba\\", "Dom\\", "FFI", "FTP\\", "GMP", "GdImage", "Imagick", "Intl", "Locale", "Memcached", "MessageFormatter",
    "Mongo", "Normalizer", "NumberFormatter", "OpenSSL", "PDO", "Pdo\\", "PgSql\\", "Phar", "Redis", "ResourceBundle", "SQLite3", "Session",
    "SimpleXML", "Soap", "Socket", "Spoofchecker", "SysvMessage", "Transliterator", "UConverter", "XMLParser", "XMLReader", "XMLWriter", "XSLT",
    "ZipArchive", "finfo", "mysqli", "tidy", NULL,
};

static const char *const CONSTANT_FAMILIES[] = {
    "AF_", "CURL", "FILEINFO_", "FORCE_GZIP", "GMP_", "IMG_", "LIBXML_", "MSG_", "OPENSSL_", "PCNTL_", "POSIX_", "SIG", "SOCK_", "SODIUM_",
    "SOL_", "SQLITE3_", "WNOHANG", "WUNTRACED", "XML_", "ZLIB_", NULL,
};

static bool starts(const char *name, const char *const *families)
{
    for (; *families != NULL; families++) {
        if (strncasecmp(name, *families, strlen(*families)) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_one_of(const char *name, const char *const *names)
{
    for (; *names != NULL; names++) {
        if (strcasecmp(name, *names) == 0) {
            return true;
        }
    }
    return false;
}

// Copies what is between `before`, with which the message has to start, and `after`.
static bool between(const char *message, const char *before, const char *after, char *name, size_t room)
{
    if (strncmp(message, before, strlen(before)) != 0) {
        return false;
    }
    message += strlen(before);
    const char *end = strstr(message, after);
    if (end == NULL || (size_t)(end - message) >= room) {
        return false;
    }
    memcpy(name, message, (size_t)(end - message));
    name[end - message] = 0;
    return true;
}

static const char *without_namespace(const char *name)
{
    const char *last = strrchr(name, '\\');
    return last != NULL ? last + 1 : name;
}

void report_missing(const char *message)
{
    char name[128];
    const char *missing = NULL;
    if (strcmp(message, "WebAssembly has no fibers") == 0) {
        report_unsupported(message);
        return;
    }
    if (strncmp(message, "Maximum call stack size of ", 27) == 0) {
        report_unsupported("calls this deep need a larger stack than WebAssembly has");
        return;
    }
    if (between(message, "Call to undefined function ", "()", name, sizeof name)) {
        const char *plain = without_namespace(name);
        missing = starts(plain, FUNCTION_FAMILIES) || is_one_of(plain, FUNCTIONS) ? plain : NULL;
    } else if (between(message, "Class \"", "\" not found", name, sizeof name)) {
        missing = starts(name, CLASS_FAMILIES) ? name : NULL;
    } else if (between(message, "Undefined constant \"", "\"", name, sizeof name)) {
        const char *plain = without_namespace(name);
        missing = starts(plain, CONSTANT_FAMILIES) ? plain : NULL;
    }
    if (missing != NULL) {
        char sentence[256];
        snprintf(sentence, sizeof sentence, "`%s` is not in the WebAssembly PHP", missing);
        report_unsupported(sentence);
    }
}

/* A shared file system in miniature: everything under SOURCE, read-only, where each call takes its time.
   usage: slowfs SOURCE MICROSECONDS MOUNTPOINT [FUSE OPTIONS] */
#define FUSE_USE_VERSION 31
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *source;
static long delay;

static void answer_slowly(void) {
    struct timespec pause = {delay / 1000000, delay % 1000000 * 1000};
    nanosleep(&pause, NULL);
}

static const char *real(const char *path, char *buffer) {
    snprintf(buffer, PATH_MAX, "%s%s", source, path);
    return buffer;
}

static int slow_getattr(const char *path, struct stat *status, struct fuse_file_info *file) {
    char buffer[PATH_MAX];
    answer_slowly();
    if (file)
        return fstat(file->fh, status) ? -errno : 0;
    return lstat(real(path, buffer), status) ? -errno : 0;
}

static int slow_readlink(const char *path, char *target, size_t size) {
    char buffer[PATH_MAX];
    answer_slowly();
    ssize_t length = readlink(real(path, buffer), target, size - 1);
    if (length < 0)
        return -errno;
    target[length] = 0;
    return 0;
}

static int slow_readdir(const char *path, void *out, fuse_fill_dir_t fill, off_t offset, struct fuse_file_info *file,
                        enum fuse_readdir_flags flags) {
    (void)offset, (void)file, (void)flags;
    char buffer[PATH_MAX];
    answer_slowly();
    DIR *folder = opendir(real(path, buffer));
    if (!folder)
        return -errno;
    for (struct dirent *entry; (entry = readdir(folder));) {
        struct stat status = {.st_ino = entry->d_ino, .st_mode = DTTOIF(entry->d_type)};
        fill(out, entry->d_name, &status, 0, 0);
    }
    closedir(folder);
    return 0;
}

static int slow_open(const char *path, struct fuse_file_info *file) {
    char buffer[PATH_MAX];
    answer_slowly();
    int descriptor = open(real(path, buffer), file->flags & ~O_NOFOLLOW);
    if (descriptor < 0)
        return -errno;
    file->fh = descriptor;
    return 0;
}

static int slow_read(const char *path, char *out, size_t size, off_t offset, struct fuse_file_info *file) {
    (void)path;
    answer_slowly();
    ssize_t length = pread(file->fh, out, size, offset);
    return length < 0 ? -errno : length;
}

static int slow_release(const char *path, struct fuse_file_info *file) {
    (void)path;
    return close(file->fh);
}

static void *slow_init(struct fuse_conn_info *connection, struct fuse_config *config) {
    (void)connection;
    config->entry_timeout = config->attr_timeout = 30; /* NFS keeps what it was told for 3 to 60 seconds */
    return NULL;
}

static const struct fuse_operations operations = {
    .init = slow_init,       .getattr = slow_getattr, .readlink = slow_readlink, .readdir = slow_readdir,
    .open = slow_open,       .read = slow_read,         .release = slow_release,
};

int main(int count, char **words) {
    if (count < 4) {
        fprintf(stderr, "usage: slowfs SOURCE MICROSECONDS MOUNTPOINT [FUSE OPTIONS]\n");
        return 2;
    }
    source = realpath(words[1], NULL);
    delay = atol(words[2]);
    words[2] = words[0];
    return fuse_main(count - 2, words + 2, &operations, NULL);
}

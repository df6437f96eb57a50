// Slow clients: CLIENTS connections, opened within a second, each with a turn every EVERY_S seconds. With a
// PATH each asks for it when it has come and reads at most 4 KiB a turn, into a receive buffer of that size;
// with "" each sends nothing; without PATH each sends a byte of a head that never ends. A client that the
// server closes comes again after AGAIN_S seconds; 0: never. Prints "slow N" when all have come, and when its
// standard input ends how often one was closed and came again.
// usage: slow HOST PORT CLIENTS EVERY_S AGAIN_S [PATH]
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
static const char head[] = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
struct client { int fd; double due; long sent; };
static char request[512];
static int reads, is_silent;
static struct client *clients;
static struct sockaddr_in server;
static int epoll;
static long closed, came;

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }

static void come(struct client *c) {
  c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (c->fd < 0) { perror("socket"); exit(1); }
  if (reads) setsockopt(c->fd, SOL_SOCKET, SO_RCVBUF, &(int){4096}, sizeof(int));
  if (connect(c->fd, (void *)&server, sizeof server) && errno != EINPROGRESS) { perror("connect"); exit(1); }
  struct epoll_event event = {.events = EPOLLRDHUP | (reads ? 0 : EPOLLIN), .data.u32 = c - clients};
  epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
  c->sent = 0; came++;
}

static void go(struct client *c, double again) {
  close(c->fd); c->fd = -1; closed++;
  c->due = again > 0 ? now() + again : 1e18;
}

static void trickle(struct client *c, double every, double again) {
  if (c->fd < 0) { come(c); c->due = now() + (reads ? 0.1 : every); return; }
  c->due += every;
  if (is_silent) return;
  char byte = c->sent < (long)sizeof head - 1 ? head[c->sent] : 'x', read[4096];
  long done;
  if (reads && c->sent) done = recv(c->fd, read, sizeof read, MSG_DONTWAIT);
  else if (reads) done = send(c->fd, request, strlen(request), MSG_NOSIGNAL | MSG_DONTWAIT);
  else done = send(c->fd, &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (done > 0) c->sent++;
  else if (done == 0 || (errno != EAGAIN && errno != ENOTCONN)) go(c, again);
}

int main(int argc, char **v) {
  if (argc != 6 && argc != 7) return fprintf(stderr, "usage: slow HOST PORT CLIENTS EVERY_S AGAIN_S [PATH]\n"), 2;
  is_silent = argc == 7 && !*v[6];
  reads = argc == 7 && *v[6];
  if (reads) snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: a\r\n\r\n", v[6]);
  server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(atoi(v[2]))};
  inet_pton(AF_INET, v[1], &server.sin_addr);
  int n = atoi(v[3]), told = 0; double every = atof(v[4]), again = atof(v[5]), start = now();
  clients = calloc(n, sizeof *clients); epoll = epoll_create1(0);
  for (int i = 0; i < n; i++) clients[i] = (struct client){.fd = -1, .due = start + (double)i / n};
  struct epoll_event events[1024];
  struct pollfd input = {.fd = 0, .events = POLLIN};
  char line[16];
  // Each look at all clients is some microseconds, and there are a hundred in a second.
  for (double looked = 0; poll(&input, 1, 0) == 0 || read(0, line, sizeof line) > 0;) {
    int some = epoll_wait(epoll, events, 1024, 5);
    for (int i = 0; i < some; i++) if (clients[events[i].data.u32].fd >= 0) go(&clients[events[i].data.u32], again);
    double t = now();
    if (t - looked < 0.01) continue;
    looked = t;
    for (int i = 0; i < n; i++) if (clients[i].due <= t) trickle(&clients[i], every, again);
    if (!told && came >= n) { printf("slow %d\n", n); fflush(stdout); told = 1; }
  }
  printf("closed %ld, came %ld times\n", closed, came);
  return 0;
}

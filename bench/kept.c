// Open-loop load that tells every way in which a request can fail: RATE requests a second start whatever
// the server does, each on a connection that is free, and kept for as long as the server keeps it (or, with
// "close", on one of its own).  Nothing is sent twice.  A kept connection that ends while it has no request
// is no failure unless it ends by a reset.
// usage: kept HOST PORT PATH RATE SECONDS TIMEOUT_S CONNECTIONS keep|close
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
enum state { GONE, CONNECTS, FREE, ASKED, ANSWERED };
struct wire { int fd; enum state state; double due, sent; long got, length; int closes; char head[2048]; };
static long asked, answered, told, ended, unanswered, broken, resets, refused, timeouts, wrong;
static long micros[2000001];  // by microsecond; the last one is for all that took longer
static struct wire *wires;
static int *queue, queue_at, queued, count, keep, epoll;  // free connections, first come first served
static struct sockaddr_in server;
static char request[512];
static int request_length;

static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + t.tv_nsec * 1e-9; }
static void enqueue(int n) { queue[(queue_at + queued++) % count] = n; }
static void hang_up(int n) { close(wires[n].fd); wires[n].state = GONE; enqueue(n); }
static void watch(int n, int operation, unsigned events) {
  struct epoll_event event = {.events = events, .data.u32 = n};
  epoll_ctl(epoll, operation, wires[n].fd, &event);
}

static void ask(int n) {
  struct wire *w = &wires[n];
  w->state = ASKED; w->got = 0; w->length = -1; w->closes = 0;
  if (send(w->fd, request, request_length, MSG_NOSIGNAL) != request_length) {
    errno == ECONNRESET || errno == EPIPE ? resets++ : unanswered++;
    hang_up(n);
  }
}

// A request that is due is given to a connection: an open one, or one that is opened for it.
static void give(int n, double due) {
  struct wire *w = &wires[n];
  asked++; w->due = due; w->sent = now();
  if (w->state == FREE) { ask(n); return; }
  int one = 1;
  w->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  if (w->fd < 0) { perror("socket"); exit(1); }
  setsockopt(w->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  w->state = CONNECTS;
  if (connect(w->fd, (void *)&server, sizeof server) && errno != EINPROGRESS) { refused++; hang_up(n); return; }
  watch(n, EPOLL_CTL_ADD, EPOLLOUT);
}

static void judge_head(struct wire *w) {
  char *end = memmem(w->head, w->got < (long)sizeof w->head ? w->got : (long)sizeof w->head, "\r\n\r\n", 4);
  if (!end) return;
  *end = 0;
  char *length = strcasestr(w->head, "\ncontent-length:");
  if (strncmp(w->head, "HTTP/1.1 200", 12) || !length) { wrong++; w->closes = 1; }
  w->length = end + 4 - w->head + (length ? atol(length + 16) : 0);
  if (strcasestr(w->head, "\nconnection: close")) { w->closes = 1; told += keep; }
}

static void finish(int n) {
  struct wire *w = &wires[n];
  long took = (now() - w->due) * 1e6;
  micros[took < 0 ? 0 : took > 2000000 ? 2000000 : took]++;
  answered++; w->state = ANSWERED;
  if (!keep) return;  // it is the server who ends the connection
  if (w->closes) hang_up(n); else { w->state = FREE; enqueue(n); }
}

// Where failures can be held against what the server did.
static void tell(struct wire *w, const char *how) {
  static int told; struct timespec t; char clock[16];
  if (told++ >= 1000) return;
  clock_gettime(CLOCK_REALTIME, &t); strftime(clock, sizeof clock, "%T", localtime(&t.tv_sec));
  fprintf(stderr, "%s.%03ld kept: %s %.1f ms after it was asked\n", clock, t.tv_nsec / 1000000, how, (now() - w->sent) * 1e3);
}

static void end(int n, long read) {
  struct wire *w = &wires[n];
  if (w->state != FREE && w->state != ANSWERED) tell(w, read < 0 ? "reset" : "ended");
  if (w->state == FREE) {  // its place in the queue stays
    read < 0 ? resets++ : ended++; close(w->fd); w->state = GONE; return;
  }
  if (read < 0) resets++;
  else if (w->state == ASKED) w->got ? broken++ : unanswered++;
  hang_up(n);
}

static void receive(int n) {
  static char bytes[1 << 17];
  struct wire *w = &wires[n];
  for (;;) {
    long read = recv(w->fd, bytes, sizeof bytes, 0);
    if (read < 0 && errno == EAGAIN) return;
    if (read <= 0) { end(n, read); return; }
    if (w->state != ASKED) { broken++; hang_up(n); return; }
    long room = (long)sizeof w->head - w->got;
    if (room > 0) memcpy(w->head + w->got, bytes, read < room ? read : room);
    w->got += read;
    if (w->length < 0) judge_head(w);
    if (w->length >= 0 && w->got >= w->length) { finish(n); if (w->state != ANSWERED) return; }
  }
}

static void connected(int n) {
  int error = 0; socklen_t size = sizeof error;
  getsockopt(wires[n].fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error) { error == ECONNRESET ? resets++ : refused++; hang_up(n); return; }
  watch(n, EPOLL_CTL_MOD, EPOLLIN);
  ask(n);
}

static void lose_patience(double limit) {
  for (int n = 0; n < count; n++)
    if (wires[n].state != GONE && wires[n].state != FREE && wires[n].sent < limit) { timeouts++; tell(&wires[n], "given up"); hang_up(n); }
}

static double percentile(double share) {
  long total = 0, seen = 0, at = 0;
  for (long i = 0; i <= 2000000; i++) total += micros[i];
  while (at < 2000000 && (seen += micros[at]) < share * total) at++;
  return at / 1e3;
}

int main(int argc, char **v) {
  if (argc != 9) { fprintf(stderr, "usage: kept HOST PORT PATH RATE SECONDS TIMEOUT_S CONNECTIONS keep|close\n"); return 2; }
  double rate = atof(v[4]), seconds = atof(v[5]), patience = atof(v[6]);
  count = atoi(v[7]); keep = !strcmp(v[8], "keep");
  server = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(atoi(v[2]))};
  inet_pton(AF_INET, v[1], &server.sin_addr);
  request_length = snprintf(request, sizeof request, "GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", v[3], v[1], keep ? "" : "Connection: close\r\n");
  wires = calloc(count, sizeof *wires); queue = calloc(count, sizeof *queue); epoll = epoll_create1(0);
  for (int n = 0; n < count; n++) enqueue(n);
  struct epoll_event events[1024];
  double start = now(), looked = start;
  long due = 0, all = rate * seconds;
  for (;;) {
    double t = now();
    while (due < all && queued && start + due / rate <= t) {
      int n = queue[queue_at]; queue_at = (queue_at + 1) % count; queued--;
      give(n, start + due++ / rate);
    }
    if (due == all && (queued == count || t > start + seconds + patience)) break;
    if (t - looked > 0.1) { looked = t; lose_patience(t - patience); }
    int some = epoll_wait(epoll, events, 1024, due < all && queued && start + due / rate <= t ? 0 : 1);
    for (int i = 0; i < some; i++) {
      int n = events[i].data.u32;
      if (wires[n].state == CONNECTS) connected(n); else if (wires[n].state != GONE) receive(n);
    }
  }
  long failed = unanswered + broken + resets + refused + timeouts + wrong;
  printf("asked %ld answered %ld failed %ld (unanswered %ld broken %ld resets %ld refused %ld timeouts %ld wrong %ld) "
         "told to close %ld ended while idle %ld p50 %.2f ms p99 %.2f ms p99.9 %.2f ms\n",
         asked, answered, failed, unanswered, broken, resets, refused, timeouts, wrong, told, ended,
         percentile(.5), percentile(.99), percentile(.999));
  return failed > 0;
}

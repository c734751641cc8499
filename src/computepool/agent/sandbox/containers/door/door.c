/* The door of a job whose network nobody can enter from outside: gVisor's own, or another user's engine's.

   It is the first program of such a container. It listens on 127.0.0.1:PORT, leaves a copy of itself there, and becomes
   the program that it was told to start. The copy carries what comes to the door to the agent and back, all connections
   in one stream: from the agent through standard input, to the agent through standard error. The job itself has an empty
   input, and its errors go where its output goes. A job may kill this copy or speak in its place: it then reaches the
   same agent, which believes nothing that it hears (tunnel.py, where the frames are described).

   It needs no library and no shell, because an image may have neither. After a change: python -m tools.door */

#define CONNECTIONS 128
#define WINDOW 65536
#define PIECE 16384

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long u64;
typedef long word;

enum { OPEN = 1, DATA = 2, END = 3, RESET = 4, CREDIT = 5 };

#if defined(__x86_64__)
enum { READ = 0, WRITE = 1, CLOSE = 3, SOCKET = 41, BIND = 49, LISTEN = 50, SETSOCKOPT = 54, SHUTDOWN = 48, CLONE = 56,
       EXECVE = 59, EXIT = 231, SETSID = 112, SIGPROCMASK = 14, OPENAT = 257, PPOLL = 271, ACCEPT4 = 288, DUP3 = 292 };

static word call(word n, word a, word b, word c, word d, word e) {
    word result;
    register word r10 __asm__("r10") = d;
    register word r8 __asm__("r8") = e;
    __asm__ volatile("syscall" : "=a"(result) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                     : "rcx", "r11", "memory");
    return result;
}

__asm__(".globl _start\n_start:\n xor %ebp, %ebp\n mov %rsp, %rdi\n and $-16, %rsp\n call begin\n");
#elif defined(__aarch64__)
enum { READ = 63, WRITE = 64, CLOSE = 57, SOCKET = 198, BIND = 200, LISTEN = 201, SETSOCKOPT = 208, SHUTDOWN = 210,
       CLONE = 220, EXECVE = 221, EXIT = 94, SETSID = 157, SIGPROCMASK = 135, OPENAT = 56, PPOLL = 73, ACCEPT4 = 242,
       DUP3 = 24 };

static word call(word n, word a, word b, word c, word d, word e) {
    register word x8 __asm__("x8") = n;
    register word x0 __asm__("x0") = a;
    register word x1 __asm__("x1") = b;
    register word x2 __asm__("x2") = c;
    register word x3 __asm__("x3") = d;
    register word x4 __asm__("x4") = e;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
    return x0;
}

__asm__(".globl _start\n_start:\n mov x29, #0\n mov x30, #0\n mov x0, sp\n bl begin\n");
#else
#error "no door for this architecture"
#endif

#define AGAIN (-11)
#define INTERRUPTED (-4)
#define CLOEXEC 02000000
#define NONBLOCK 04000

struct waiting { int fd; short events; short seen; };
enum { IN = 1, OUT = 4 };

static struct connection {
    int fd;
    u8 used, sent_end, got_end, is_shut;
    u32 credit;      /* what the agent still has room for */
    u32 first, kept; /* of what came from the agent and the job has not taken yet */
    u8 buffer[WINDOW];
} all[CONNECTIONS];

static u8 frame[8 + PIECE];

static void leave(int code) {
    for (;;) call(EXIT, code, 0, 0, 0, 0);
}

/* It may wait: the agent always reads on. */
static void write_all(int fd, const u8 *from, u64 count) {
    while (count) {
        word written = call(WRITE, fd, (word)from, count, 0, 0);
        if (written == INTERRUPTED || written == AGAIN) continue;
        if (written <= 0) leave(0);
        from += written;
        count -= written;
    }
}

static void say(const char *text) {
    u64 length = 0;
    while (text[length]) length++;
    write_all(1, (const u8 *)text, length);
}

/* The payload, if there is any, stands behind the head already. */
static void send(u8 kind, u32 id, u32 length) {
    frame[0] = kind;
    frame[1] = id;
    frame[2] = frame[3] = 0;
    for (int i = 0; i < 4; i++) frame[4 + i] = length >> (8 * i);
    write_all(2, frame, 8 + (kind == DATA ? length : 0));
}

static void close_if_over(struct connection *one) {
    if (!one->used || !one->sent_end || !one->got_end || one->kept) return;
    call(CLOSE, one->fd, 0, 0, 0, 0);
    one->used = 0;
}

/* Nobody is there any more: what is kept for them is of no use. */
static void break_off(struct connection *one) {
    one->kept = 0;
    one->is_shut = 1;
    if (!one->sent_end) send(RESET, one - all, 0);
    one->sent_end = 1;
}

static void welcome(int listener) {
    int fd = call(ACCEPT4, listener, 0, 0, CLOEXEC | NONBLOCK, 0);
    if (fd < 0) return;
    for (u32 id = 0; id < CONNECTIONS; id++) {
        struct connection *one = &all[id];
        if (one->used) continue;
        one->fd = fd;
        one->used = 1;
        one->sent_end = one->got_end = one->is_shut = 0;
        one->credit = WINDOW;
        one->first = one->kept = 0;
        send(OPEN, id, 0);
        return;
    }
    call(CLOSE, fd, 0, 0, 0, 0);
}

static void take_from_job(struct connection *one) {
    u32 most = one->credit < PIECE ? one->credit : PIECE;
    word count = call(READ, one->fd, (word)(frame + 8), most, 0, 0);
    if (count == AGAIN || count == INTERRUPTED) return;
    if (count < 0) {
        break_off(one);
    } else if (count == 0) {
        send(END, one - all, 0);
        one->sent_end = 1;
    } else {
        one->credit -= count;
        send(DATA, one - all, count);
    }
}

static void give_to_job(struct connection *one) {
    u32 until_edge = WINDOW - one->first;
    u32 most = one->kept < until_edge ? one->kept : until_edge;
    word count = call(WRITE, one->fd, (word)(one->buffer + one->first), most, 0, 0);
    if (count == AGAIN || count == INTERRUPTED) return;
    if (count < 0) {
        break_off(one);
        return;
    }
    one->first = (one->first + count) % WINDOW;
    one->kept -= count;
    if (!one->got_end) send(CREDIT, one - all, count);
}

static void shut_if_all_given(struct connection *one) {
    if (one->used && one->got_end && !one->kept && !one->is_shut) {
        call(SHUTDOWN, one->fd, 1, 0, 0, 0);
        one->is_shut = 1;
    }
}

/* From the agent. A frame may come in any number of pieces. */
static u8 head[8];
static u32 head_bytes, payload_left;

static void obey(void) {
    struct connection *one = &all[head[1] % CONNECTIONS];
    u32 length = head[4] | head[5] << 8 | head[6] << 16 | (u32)head[7] << 24;
    if (head[0] == DATA) {
        payload_left = length;
    } else if (!one->used) {
        return;
    } else if (head[0] == CREDIT) {
        one->credit += length;
    } else if (head[0] == END) {
        one->got_end = 1;
    } else if (head[0] == RESET) {
        /* Whoever reads until the end must not take this for one. */
        struct { int on, seconds; } linger = {1, 0};
        call(SETSOCKOPT, one->fd, 1, 13, (word)&linger, sizeof linger);
        one->got_end = 1;
        break_off(one);
    }
}

static void keep(u8 value) {
    struct connection *one = &all[head[1] % CONNECTIONS];
    if (!one->used || one->is_shut || one->kept == WINDOW) return;
    one->buffer[(one->first + one->kept) % WINDOW] = value;
    one->kept++;
}

static void hear(void) {
    static u8 heard[PIECE];
    word count = call(READ, 0, (word)heard, sizeof heard, 0, 0);
    if (count == AGAIN || count == INTERRUPTED) return;
    if (count <= 0) leave(0);
    for (word i = 0; i < count; i++) {
        if (payload_left) {
            keep(heard[i]);
            payload_left--;
            continue;
        }
        head[head_bytes++] = heard[i];
        if (head_bytes == sizeof head) {
            head_bytes = 0;
            obey();
        }
    }
}

static void carry(int listener) {
    static struct waiting waits[CONNECTIONS + 2];
    /* A job that is asked to end may still have something to send; and nobody's leaving is the end of this. */
    u64 every = ~0UL;
    call(SETSID, 0, 0, 0, 0, 0);
    call(SIGPROCMASK, 0, (word)&every, 0, sizeof every, 0);
    for (;;) {
        int has_room = 0;
        for (u32 id = 0; id < CONNECTIONS; id++) {
            struct connection *one = &all[id];
            short events = 0;
            if (!one->used) {
                has_room = 1;
            } else {
                if (one->credit && !one->sent_end) events |= IN;
                if (one->kept) events |= OUT;
            }
            /* Without a wish it is left out, else the end of a connection would be told again and again. */
            waits[id] = (struct waiting){events ? one->fd : -1, events, 0};
        }
        waits[CONNECTIONS] = (struct waiting){has_room ? listener : -1, IN, 0};
        waits[CONNECTIONS + 1] = (struct waiting){0, IN, 0};
        if (call(PPOLL, (word)waits, CONNECTIONS + 2, 0, 0, sizeof every) < 0) continue;
        if (waits[CONNECTIONS + 1].seen) hear();
        for (u32 id = 0; id < CONNECTIONS; id++) {
            struct connection *one = &all[id];
            short seen = waits[id].seen;
            if (seen && one->kept) give_to_job(one);
            if (seen && (waits[id].events & IN) && one->credit && !one->sent_end) take_from_job(one);
            shut_if_all_given(one);
            close_if_over(one);
        }
        if (waits[CONNECTIONS].seen) welcome(listener);
    }
}

static int listen_on(u16 port) {
    struct { u16 family, port; u32 address; u64 zero; } place = {2, (u16)(port << 8 | port >> 8), 0x0100007F, 0};
    int fd = call(SOCKET, 2, 1 | CLOEXEC, 0, 0, 0), yes = 1;
    if (fd < 0) return -1;
    call(SETSOCKOPT, fd, 1, 2, (word)&yes, sizeof yes);
    if (call(BIND, fd, (word)&place, sizeof place, 0, 0) < 0 || call(LISTEN, fd, 128, 0, 0, 0) < 0) return -1;
    return fd;
}

__attribute__((used)) void begin(word *stack) {
    word count = stack[0];
    char **words = (char **)(stack + 1);
    char **environment = words + count + 1;
    u32 port = 0;
    if (count < 3) leave(125);
    for (const char *digit = words[1]; *digit; digit++) port = port * 10 + (*digit - '0');
    int listener = listen_on(port);
    if (listener < 0) {
        say("computepool: nothing can listen in this container\n");
        leave(125);
    }
    word child = call(CLONE, 17, 0, 0, 0, 0);
    if (child < 0) {
        say("computepool: the door of this container could not be opened\n");
        leave(125);
    }
    if (child == 0) {
        /* Not to be mistaken for the job's output when that has ended. */
        call(CLOSE, 1, 0, 0, 0, 0);
        carry(listener);
    }
    int nothing = call(OPENAT, -100, (word) "/dev/null", 0, 0, 0);
    if (nothing > 0) {
        call(DUP3, nothing, 0, 0, 0, 0);
        call(CLOSE, nothing, 0, 0, 0, 0);
    } else {
        call(CLOSE, 0, 0, 0, 0, 0);
    }
    call(DUP3, 1, 2, 0, 0, 0);
    call(CLOSE, listener, 0, 0, 0, 0);
    call(EXECVE, (word)words[2], (word)(words + 2), (word)environment, 0, 0);
    say("computepool: the container's first program could not be started\n");
    leave(125);
}

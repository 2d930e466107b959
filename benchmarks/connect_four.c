/* Judges games of connect four: whether a move gave away a win.

   Called with a number of processes and the size of the table, a power of two. A line in: a side
   (0 moved first, 1 second), how many moves to pass over, the columns of a game, 1 to 7. A line out,
   as soon as it is known: the number of the line in, and a letter for each move. w: it keeps a
   win, by best play from both sides; x: another move would have won and this one does not; -:
   there was no win; a dot: passed over, or a move of the other side. A line that is no game gets a
   question mark. Built and driven by connect_four.py.

   A column has seven bits, of which the top one stays empty, the first column the lowest ones.
   Alpha-beta with a window between two of the three outcomes; a table keeps what is known of
   positions, looked at from either side of the mirror as the same. The processes share it: an
   entry is one number, which is written at once, and carries the name of its position. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef uint64_t bits;

/* In positions of fewer discs than AHEAD the table is asked about all moves before one is tried. */
enum { COLUMNS = 7, ROWS = 6, CELLS = COLUMNS * ROWS, GAMES = 65536, LONGEST = 64, AHEAD = 22 };

static const bits BOTTOM = 0x40810204081ULL;                /* the lowest cell of every column */
static const bits BOARD = 0x40810204081ULL * ((1 << ROWS) - 1);
static const int BY_MIDDLE[COLUMNS] = {3, 2, 4, 1, 5, 0, 6};

static bits column(int c) { return (bits)((1 << ROWS) - 1) << 7 * c; }

/* A position: the discs of the player to move, and all discs. */
typedef struct {
    bits mine, all;
} position;

/* Empty cells with which `discs` would have four in a line, whether they can be reached or not. */
static bits fours(bits discs, bits all) {
    bits found = (discs << 1) & (discs << 2) & (discs << 3); /* upright */
    for (int way = 6; way <= 8; way++) {
        bits pair = (discs << way) & (discs << 2 * way);
        found |= pair & (discs << 3 * way); /* xxx. */
        found |= pair & (discs >> way);     /* xx.x */
        pair = (discs >> way) & (discs >> 2 * way);
        found |= pair & (discs << way);     /* x.xx */
        found |= pair & (discs >> 3 * way); /* .xxx */
    }
    return found & (BOARD ^ all);
}

static bits open_cells(position p) { return (p.all + BOTTOM) & BOARD; }

static position dropped(position p, bits cell) {
    return (position){p.mine ^ p.all, p.all | cell};
}

/* Cells that do not lose at once; the player to move must have no four on the next move. */
static bits safe_cells(position p) {
    bits theirs = fours(p.mine ^ p.all, p.all), moves = open_cells(p), forced = moves & theirs;
    if (forced) {
        if (forced & (forced - 1)) return 0; /* two of them cannot both be stopped */
        moves = forced;
    }
    return moves & ~(theirs >> 1); /* not below a cell that they want */
}

static int count(bits set) { return __builtin_popcountll(set); }

static bits mirrored(bits b) {
    bits m = 0;
    for (int c = 0; c < COLUMNS; c++) m |= (b >> 7 * c & 127) << 7 * (COLUMNS - 1 - c);
    return m;
}

/* Every position has its own number, the same for its mirror image. */
static bits name(position p) {
    bits key = p.mine + p.all + BOTTOM, other = mirrored(p.mine) + mirrored(p.all) + BOTTOM;
    return key < other ? key : other;
}

/* What is known of a position: its name, and bounds of its value, low + 1 and high + 1. */
static bits *table;
static int power;

static bits *place(bits key) { return &table[(key * 0x9E3779B97F4A7C15ULL) >> (64 - power)]; }

/* What the table says of a position: bounds of its value. */
static void recall(bits key, int *least, int *most) {
    bits known = *place(key);
    int same = known >> 4 == key;
    *least = same ? (int)(known & 3) - 1 : -1;
    *most = same ? (int)(known >> 2 & 3) - 1 : 1;
}

/* The value for the player to move, who has no four on the next move: a bound of it if it is not
   between low and high, which are one apart. */
static int value(position p, int discs, int low, int high) {
    bits moves = safe_cells(p);
    if (!moves) return discs == CELLS ? 0 : -1;
    if (discs >= CELLS - 2) return 0;

    bits key = name(p);
    int least, most;
    recall(key, &least, &most);
    if (least >= high || least == most) return least;
    if (most <= low) return most;
    if (discs < AHEAD)
        for (int i = 0; i < COLUMNS; i++) {
            bits cell = moves & column(i);
            int worst, found;
            if (!cell) continue;
            recall(name(dropped(p, cell)), &worst, &found);
            if (-found >= high) return -found;
        }

    /* Those that threaten most first, then those in the middle. */
    bits order[COLUMNS];
    int threats[COLUMNS], n = 0;
    for (int i = 0; i < COLUMNS; i++) {
        bits cell = moves & column(BY_MIDDLE[i]);
        if (!cell) continue;
        int threat = count(fours(p.mine | cell, p.all | cell)), j = n++;
        for (; j > 0 && threats[j - 1] < threat; j--)
            order[j] = order[j - 1], threats[j] = threats[j - 1];
        order[j] = cell, threats[j] = threat;
    }
    int best = -1;
    for (int i = 0; i < n && best < high; i++) {
        int found = -value(dropped(p, order[i]), discs + 1, -high, -low);
        if (found > best) best = found;
    }
    if (best >= high && best > least) least = best;
    if (best <= low && best < most) most = best;
    *place(key) = key << 4 | (bits)(most + 1) << 2 | (bits)(least + 1);
    return best;
}

/* Whether a player who drops a disc into `cell` wins by it. */
static int wins(position p, int discs, bits cell) {
    if (fours(p.mine, p.all) & cell) return 1;
    position next = dropped(p, cell);
    if (discs + 1 == CELLS || (fours(next.mine, next.all) & open_cells(next))) return 0;
    return value(next, discs + 1, -1, 0) < 0;
}

static char judged(position p, int discs, bits cell) {
    if (wins(p, discs, cell)) return 'w';
    for (int i = 0; i < COLUMNS; i++) {
        bits other = open_cells(p) & column(BY_MIDDLE[i]);
        if (other && other != cell && wins(p, discs, other)) return 'x';
    }
    return '-';
}

/* Judges the moves from the last to the first, for what is late is known fast and helps. */
static int answered(int side, int skip, const char *moves, char *letters) {
    position along[CELLS + 1] = {{0, 0}};
    bits cells[CELLS];
    int n = 0, over = 0;
    for (; *moves >= '1' && *moves <= '7'; moves++, n++) {
        if (over || n == CELLS) return 0;
        cells[n] = open_cells(along[n]) & column(*moves - '1');
        if (!cells[n]) return 0;
        over = (fours(along[n].mine, along[n].all) & cells[n]) != 0;
        along[n + 1] = dropped(along[n], cells[n]);
    }
    if (*moves) return 0;
    letters[n] = 0;
    for (int i = n - 1; i >= 0; i--)
        letters[i] = i >= skip && i % 2 == side ? judged(along[i], i, cells[i]) : '.';
    return 1;
}

/* Takes lines until none is left. */
static int worked(char lines[][LONGEST], int count, int *next) {
    for (int i; (i = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED)) < count;) {
        int side, skip;
        char moves[LONGEST], letters[LONGEST], told[2 * LONGEST];
        if (sscanf(lines[i], "%d %d %43s", &side, &skip, moves) != 3 ||
            !answered(side, skip, moves, letters))
            strcpy(letters, "?");
        int size = snprintf(told, sizeof told, "%d %s\n", i, letters);
        if (write(1, told, size) != size) return 1;
    }
    return 0;
}

static void *shared(size_t bytes) {
    void *found = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return found == MAP_FAILED ? 0 : found;
}

int main(int given, char **words) {
    static char lines[GAMES][LONGEST];
    int count = 0, failed = 0, *next = shared(sizeof *next);
    power = given == 3 ? atoi(words[2]) : 0;
    if (power < 10 || power > 34 || !next) return 1;
    table = shared(sizeof *table << power);
    if (!table) return 1;
    while (count < GAMES && fgets(lines[count], LONGEST, stdin)) count++;
    for (int i = atoi(words[1]); i > 0; i--)
        if (!fork()) _exit(worked(lines, count, next));
    for (int status; wait(&status) > 0;) failed |= status;
    return failed != 0;
}

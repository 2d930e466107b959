/* Judges games of connect four: whether a move gave away a win.

   A line in: a side (0 moved first, 1 second), how many moves to pass over, the columns of a game,
   1 to 7. A line out: a letter for each move. w: it keeps a win, by best play from both sides; x:
   another move would have won and this one does not; -: there was no win; a dot: passed over, or
   a move of the other side. A line that is no game gets a question mark. Built and driven by
   connect_four.py.

   A column has seven bits, of which the top one stays empty, the first column the lowest ones.
   Alpha-beta with a window between two of the three outcomes; a table keeps what is known of
   positions, looked at from either side of the mirror as the same. */

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef uint64_t bits;

enum { COLUMNS = 7, ROWS = 6, CELLS = COLUMNS * ROWS, TABLE = 1 << 25 };

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

static bits *place(bits key) { return &table[(key * 0x9E3779B97F4A7C15ULL) >> 39]; }

/* The value for the player to move, who has no four on the next move: a bound of it if it is not
   between low and high, which are one apart. */
static int value(position p, int discs, int low, int high) {
    bits moves = safe_cells(p);
    if (!moves) return discs == CELLS ? 0 : -1;
    if (discs >= CELLS - 2) return 0;

    bits key = name(p), *slot = place(key), known = *slot;
    int least = -1, most = 1;
    if (known >> 4 == key) {
        least = (int)(known & 3) - 1;
        most = (int)(known >> 2 & 3) - 1;
        if (least >= high || least == most) return least;
        if (most <= low) return most;
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
    *slot = key << 4 | (bits)(most + 1) << 2 | (bits)(least + 1);
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
static int answered(int side, int skip, const char *moves) {
    char letters[CELLS + 1];
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
    puts(letters);
    return 1;
}

int main(void) {
    char line[128];
    table = calloc(TABLE, sizeof *table);
    if (!table) return 1;
    while (fgets(line, sizeof line, stdin)) {
        int side, skip;
        char moves[CELLS + 2];
        if (sscanf(line, "%d %d %43s", &side, &skip, moves) != 3 || !answered(side, skip, moves))
            puts("?");
        fflush(stdout);
    }
    return 0;
}

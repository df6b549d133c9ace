// Runs launches of the kernels on the host, read from standard input, and writes the tables to standard output.
//
// Numbers are 64 bits.  A run: the numbers of Run; the description; for each subset the number at which its answers
// start, how many there are, and the answers; the rows; and for each axis that is mapped afterwards the numbers of Axis
// and the words of its matrix.  What is read or written has just its own memory, so that -fsanitize=address sees each
// slip; first tables and first answers let positions beyond 2**31 be tried without as much memory.

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <pthread.h>
#include <thread>
#include <vector>

#include "device.h"

thread_local Index threadIdx, blockIdx;
Index blockDim;

// Two barriers in turn: a thread that wakes up late from one would otherwise seem, to ThreadSanitizer, to have waited for
// what others did before they came to the next, and races would be missed.
static pthread_barrier_t barriers[2];
static thread_local unsigned waits;
void wait_for_all_threads() { pthread_barrier_wait(&barriers[waits++ % 2]); }

static const long long most_numbers = 1 << 16, behind = 1 << 12;
alignas(16) double memory[most_numbers + behind];

#include KERNEL

struct Run {
    Word threads, blocks, numbers, slabs, first_slab, slabs_of_block, tables, first_table, subsets, subsets_start, cells,
        words, axes, backwards;
};
struct AxisRun { Word threads, blocks, words, columns, rows, inner, outer; };

static bool read(void* to, size_t count) { return std::fread(to, sizeof(Word), count, stdin) == count; }

static std::vector<Word> words_of_input(size_t count)
{
    std::vector<Word> words(count);
    if (count > 0 && !read(words.data(), count)) std::exit(2);
    return words;
}

// The address from which ``numbers`` further on is where ``start`` points.
static Word before(const void* start, Word numbers) { return (Word)(unsigned long long)start - 8 * numbers; }

static const double nothing = std::numeric_limits<double>::quiet_NaN(), mark = 12345.678;

// Before a block starts, shared memory holds nothing; what lies behind its part must still be there afterwards.
static void clear_memory(Word numbers)
{
    for (Word number = 0; number < numbers + behind; ++number) memory[number] = number < numbers ? nothing : mark;
}

static void require_marks(Word numbers)
{
    for (Word number = numbers; number < numbers + behind; ++number)
        if (memory[number] != mark) {
            std::fprintf(stderr, "a thread wrote behind the shared memory of its block\n");
            std::exit(3);
        }
}

static void launch(Word threads, Word blocks, Word first_block, Word numbers, bool backwards,
                   const std::function<void()>& kernel)
{
    blockDim.x = (unsigned)threads;
    for (auto& barrier : barriers) pthread_barrier_init(&barrier, nullptr, (unsigned)threads);
    std::vector<std::thread> running;
    for (Word thread = 0; thread < threads; ++thread)
        running.emplace_back([=, &kernel] {
            threadIdx.x = (unsigned)thread;
            for (Word turn = 0; turn < blocks; ++turn) {
                blockIdx.x = (unsigned)(first_block + (backwards ? blocks - 1 - turn : turn));
                if (thread == 0) clear_memory(numbers);
                wait_for_all_threads();
                kernel();
                wait_for_all_threads();
                if (thread == 0) require_marks(numbers);
            }
        });
    for (auto& thread : running) thread.join();
    for (auto& barrier : barriers) pthread_barrier_destroy(&barrier);
}

static std::vector<double> slabs_of(const Run& run)
{
    std::vector<Word> description = words_of_input(run.words);
    std::vector<std::vector<Word>> answers;
    for (Word subset = 0; subset < run.subsets; ++subset) {
        const std::vector<Word> start = words_of_input(2);
        answers.push_back(words_of_input(start[1]));
        description[run.subsets_start + 2 * subset] = before(answers.back().data(), start[0]);
    }
    const std::vector<Word> rows = words_of_input(run.tables * run.subsets);
    std::vector<double> slabs(run.slabs * run.cells, nothing);
    const Word* const all_rows = (const Word*)before(rows.data(), run.first_table * run.subsets);
    double* const all_slabs = (double*)before(slabs.data(), run.first_slab * run.cells);
    launch(run.threads, run.blocks, run.first_slab / run.slabs_of_block, run.numbers, run.backwards,
           [&] { fused_tables(description.data(), all_rows, run.first_slab + run.slabs, all_slabs); });
    return slabs;
}

static std::vector<double> mapped(std::vector<double> stack, bool backwards)
{
    AxisRun axis;
    if (!read(&axis, sizeof axis / sizeof(Word))) std::exit(2);
    const std::vector<Word> matrix = words_of_input(axis.words);
    std::vector<double> result(axis.words ? axis.outer * axis.rows * axis.inner : 0, nothing);
    double* const target = axis.words ? result.data() : stack.data();
    launch(axis.threads, axis.blocks, 0, 0, backwards, [&] {
        map_axis(axis.words ? matrix.data() : nullptr, axis.columns, axis.rows, axis.inner, axis.outer, stack.data(),
                 target);
    });
    return axis.words ? result : stack;
}

// The kernels as a library, of memory that the caller has.
extern "C" void run_fused_tables(Word threads, Word blocks, Word numbers, const Word* description, const Word* rows,
                                 Word slabs, double* estimates)
{
    launch(threads, blocks, 0, numbers, false, [=] { fused_tables(description, rows, slabs, estimates); });
}

extern "C" void run_map_axis(Word threads, Word blocks, Word numbers, const Word* matrix, Word columns, Word rows,
                             Word inner, Word outer, double* stack, double* result)
{
    launch(threads, blocks, 0, numbers, false, [=] { map_axis(matrix, columns, rows, inner, outer, stack, result); });
}

int main()
{
    Run run;
    while (read(&run, sizeof run / sizeof(Word))) {
        std::vector<double> tables = slabs_of(run);
        for (Word axis = 0; axis < run.axes; ++axis) tables = mapped(std::move(tables), run.backwards);
        std::fwrite(tables.data(), sizeof(double), tables.size(), stdout);
    }
    return 0;
}

// Tables from their residual answers, through device memory once: answers in, estimates out.
//
// A block of threads makes one table, or several small ones.  It gathers the answers of all subsets of the table's
// attributes into the tensor of spec eq. (13) in shared memory, divides each by the divisor of its subset, maps one
// axis after the other, and writes the table.  In shared memory the last axis has an odd pitch, so that threads that
// walk along neighboring rows use different banks.  `launches.py` writes the description that is read here.
//
// A table beyond shared memory is cut along its first axes: a block makes slabs, in which these axes have one entry and
// are not mapped; they are mapped in device memory afterwards, one by one.  A table that is not cut is one slab.
//
// It is compiled by NVRTC when it is first used, and by an ordinary C++ compiler for its tests.

typedef long long Word;

// Where each number of the description stands; the axes, the subsets, the passes and the matrices follow the header.
enum Header {
    AXES, CUT_AXES, CUT_BITS, SUBSETS, PASSES, SLABS, SOURCES, CELLS, ESTIMATES, PITCH, PITCH_INVERSE, LAST,
    LAST_INVERSE, TENSOR, OTHER, HEADER
};
enum Axis { LENGTH, LENGTH_INVERSE, BIT, AXIS };
enum Subset { ADDRESS, DIVISOR, SUBSET };
enum Pass { COLUMNS, ROWS, OUTER, INNER, INNER_INVERSE, RESULTS_INVERSE, SPAN, RESULT_SPAN, MATRIX, PASS };

// What MATRIX says where an axis has the subtraction basis, whose map needs no matrix.
#define CLOSED_FORM (-1)
// How many axes a slab has at most.
#define MOST_AXES 16

static __device__ double as_double(Word word)
{
    union { Word word; double number; } bits;
    bits.word = word;
    return bits.number;
}

// number / divisor for inverse = ceil(2^31 / divisor), exact as long as number * divisor < 2^31.
static __device__ unsigned quotient(unsigned number, unsigned inverse)
{
    return (unsigned)(((unsigned long long)(2u * number) * inverse) >> 32);
}

// The answers of a slab that are of one subset of the axes in shared memory: integers, unless the divisor is 0.
struct Source { const Word* answers; double divisor; };

// Where the answers of one slab and one subset of its axes start.  Entry 0 along an axis is of a subset of the table's
// attributes without that axis, any other of one with it; the axes that are cut are in the number of the slab.
static __device__ Source source_of(const Word* description, const Word* rows, Word slab, unsigned subset)
{
    const Word axes = description[AXES], *axis = description + HEADER + axes * AXIS;
    Word answers = 1, number = 0, chosen = (Word)subset << description[CUT_BITS];
#pragma unroll 1
    for (Word left = axes; left > description[CUT_AXES]; --left) {
        axis -= AXIS;
        if (chosen & axis[BIT]) answers *= axis[LENGTH] - 1;
    }
#pragma unroll 1
    for (Word left = description[CUT_AXES]; left > 0; --left) {
        axis -= AXIS;
        const Word above = slab / axis[LENGTH], coordinate = slab - above * axis[LENGTH];
        if (coordinate > 0) {
            chosen |= axis[BIT];
            number += (coordinate - 1) * answers;
            answers *= axis[LENGTH] - 1;
        }
        slab = above;
    }
    const Word* found = description + HEADER + axes * AXIS + chosen * SUBSET;
    const Word position = rows[slab * description[SUBSETS] + chosen] * answers + number;
    Source source = {(const Word*)found[ADDRESS] + position, as_double(found[DIVISOR])};
    return source;
}

static __device__ void find_sources(const Word* description, const Word* rows, Word first, unsigned slabs,
                                    Source* sources)
{
    const unsigned subsets = (unsigned)description[SOURCES];
#pragma unroll 1
    for (unsigned number = threadIdx.x; number < slabs * subsets; number += blockDim.x)
        sources[number] = source_of(description, rows, first + number / subsets, number % subsets);
}

// The tensors of some slabs, whose number of axes is KNOWN when this is compiled, or 0.
template <unsigned KNOWN>
static __device__ void gather(const Word* description, unsigned slabs, const Source* sources, double* tensor)
{
    const unsigned axes = KNOWN ? KNOWN : (unsigned)(description[AXES] - description[CUT_AXES]);
    unsigned length[KNOWN ? KNOWN : MOST_AXES], inverse[KNOWN ? KNOWN : MOST_AXES], bit[KNOWN ? KNOWN : MOST_AXES];
    for (unsigned axis = 0; axis < axes; ++axis) {
        const Word* const described = description + HEADER + (description[CUT_AXES] + axis) * AXIS;
        length[axis] = (unsigned)described[LENGTH];
        inverse[axis] = (unsigned)described[LENGTH_INVERSE];
        bit[axis] = (unsigned)(described[BIT] >> description[CUT_BITS]);
    }
    const unsigned pitch = (unsigned)description[PITCH], pitch_inverse = (unsigned)description[PITCH_INVERSE];
    const unsigned cells = slabs * (unsigned)description[CELLS], subsets = (unsigned)description[SOURCES];
#pragma unroll 4
    for (unsigned cell = threadIdx.x; cell < cells; cell += blockDim.x) {
        unsigned row = quotient(cell, pitch_inverse), coordinate = cell - row * pitch;
        double value = 0.0;
        if (coordinate < length[axes - 1]) {
            unsigned subset = 0, number = 0, answers = 1;
            for (unsigned axis = axes - 1;; --axis) {
                if (coordinate > 0) {
                    subset |= bit[axis];
                    number += (coordinate - 1) * answers;
                    answers *= length[axis] - 1;
                }
                if (axis == 0) break;
                const unsigned above = quotient(row, inverse[axis - 1]);
                coordinate = row - above * length[axis - 1];
                row = above;
            }
            const Source source = sources[row * subsets + subset];
            const Word answer = __ldg(source.answers + number);
            value = source.divisor == 0.0 ? as_double(answer) : (double)answer / source.divisor;
        }
        tensor[cell] = value;
    }
}

// The inverse of a row of ones above the subtraction matrix, spec eq. (13), in place.
static __device__ void rebuild_line(double* line, unsigned columns, Word step)
{
    double sum = *line, *number = line;
    for (unsigned column = 1; column < columns; ++column)
        sum += *(number += step);
    const double first = sum / columns;
    *line = first;
    for (unsigned column = 1; column < columns; ++column) {
        line += step;
        *line = first - *line;
    }
}

// One entry of the product of a transposed matrix and a line.
static __device__ double product(const Word* matrix, unsigned rows, unsigned row, const double* line, unsigned columns,
                                 Word step)
{
    double sum = 0.0;
    matrix += row;
    for (unsigned column = 0; column < columns; ++column, matrix += rows, line += step)
        sum += as_double(*matrix) * *line;
    return sum;
}

// An axis of the subtraction basis in shared memory: each thread maps whole lines.
static __device__ void rebuild(const Word* pass, unsigned slabs, double* tensor)
{
    const unsigned inner = (unsigned)pass[INNER], lines = slabs * (unsigned)pass[OUTER] * inner;
    for (unsigned line = threadIdx.x; line < lines; line += blockDim.x) {
        const unsigned outer = quotient(line, (unsigned)pass[INNER_INVERSE]);
        rebuild_line(tensor + outer * (unsigned)pass[SPAN] + (line - outer * inner), (unsigned)pass[COLUMNS], inner);
    }
}

// Any other axis in shared memory: each thread makes single entries of the result.
static __device__ void multiply(const Word* pass, const Word* matrix, unsigned slabs, const double* tensor,
                                double* result)
{
    const unsigned rows = (unsigned)pass[ROWS], inner = (unsigned)pass[INNER], results = rows * inner;
    const unsigned entries = slabs * (unsigned)pass[OUTER] * results;
    for (unsigned number = threadIdx.x; number < entries; number += blockDim.x) {
        const unsigned outer = quotient(number, (unsigned)pass[RESULTS_INVERSE]), within = number - outer * results;
        const unsigned row = quotient(within, (unsigned)pass[INNER_INVERSE]), place = within - row * inner;
        result[outer * (unsigned)pass[RESULT_SPAN] + within] =
            product(matrix, rows, row, tensor + outer * (unsigned)pass[SPAN] + place, (unsigned)pass[COLUMNS], inner);
    }
}

static __device__ void scatter(const Word* description, unsigned slabs, const double* tensor, double* estimates)
{
    const unsigned last = (unsigned)description[LAST], pitch = (unsigned)description[PITCH];
    const unsigned cells = slabs * (unsigned)description[ESTIMATES];
    for (unsigned cell = threadIdx.x; cell < cells; cell += blockDim.x) {
        const unsigned row = quotient(cell, (unsigned)description[LAST_INVERSE]);
        estimates[cell] = tensor[row * pitch + (cell - row * last)];
    }
}

// description: as above.  rows (tables, subsets): the row of each table's answers among those of each subset.
// slabs: how many there are in all.  estimates (slabs, ESTIMATES): the result.
extern "C" __global__ void __launch_bounds__(1024)
fused_tables(const Word* __restrict__ description, const Word* __restrict__ rows, Word slabs,
             double* __restrict__ estimates)
{
    extern __shared__ __align__(16) double memory[];
    const Word together = description[SLABS], first = (Word)blockIdx.x * together;
    const unsigned here = (unsigned)(slabs - first < together ? slabs - first : together);
    const Word* pass = description + HEADER + description[AXES] * AXIS + description[SUBSETS] * SUBSET;
    const Word* const matrices = pass + description[PASSES] * PASS;
    Source* const sources = (Source*)memory;
    double *tensor = memory + description[TENSOR], *other = memory + description[OTHER];

    find_sources(description, rows, first, here, sources);
    __syncthreads();
    switch (description[AXES] - description[CUT_AXES]) {
    case 1: gather<1>(description, here, sources, tensor); break;
    case 2: gather<2>(description, here, sources, tensor); break;
    case 3: gather<3>(description, here, sources, tensor); break;
    default: gather<0>(description, here, sources, tensor);
    }
    __syncthreads();
    for (Word left = description[PASSES]; left > 0; --left, pass += PASS) {
        if (pass[MATRIX] == CLOSED_FORM) {
            rebuild(pass, here, tensor);
        } else {
            multiply(pass, matrices + pass[MATRIX], here, tensor, other);
            double* const mapped = other;
            other = tensor;
            tensor = mapped;
        }
        __syncthreads();
    }
    scatter(description, here, tensor, estimates + first * description[ESTIMATES]);
}

// One axis of a stack (outer, columns, inner) in device memory: each thread maps a line in place, or makes an entry of
// the result (outer, rows, inner).  matrix: transposed, as words; null for an axis of the subtraction basis.
extern "C" __global__ void __launch_bounds__(1024)
map_axis(const Word* __restrict__ matrix, Word columns, Word rows, Word inner, Word outer, double* stack, double* result)
{
    const Word number = (Word)blockIdx.x * blockDim.x + threadIdx.x;
    if (matrix == 0) {
        if (number < outer * inner)
            rebuild_line(stack + number / inner * columns * inner + number % inner, (unsigned)columns, inner);
    } else if (number < outer * rows * inner) {
        const Word row = number / inner % rows, start = number / inner / rows * columns * inner + number % inner;
        result[number] = product(matrix, (unsigned)rows, (unsigned)row, stack + start, (unsigned)columns, inner);
    }
}

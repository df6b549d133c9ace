// Tables from their residual answers, through device memory once: answers in, estimates out.
//
// A block of threads makes one table, or several small ones.  It gathers the answers of all subsets of the table's
// attributes into the tensor of spec eq. (13) in shared memory, divides each by the divisor of its subset, maps one
// axis after the other, and writes the table.  In shared memory the last axis has an odd pitch, so that threads that
// walk along neighboring rows use different banks.  `launches.py` writes the description that is read here.
//
// It is compiled by NVRTC when it is first used, and by an ordinary C++ compiler for its tests.

typedef long long Word;

// Where each number of the description stands; the axes, the subsets, the passes and the matrices follow the header.
enum Header {
    AXES, SUBSETS, PASSES, TABLES, CELLS, ESTIMATES, PITCH, PITCH_INVERSE, LAST, LAST_INVERSE, OTHER, HEADER
};
enum Axis { LENGTH, LENGTH_INVERSE, BIT, AXIS };
enum Subset { ADDRESS, IS_INTEGER, DIVISOR, SUBSET };
enum Pass { COLUMNS, ROWS, OUTER, INNER, INNER_INVERSE, RESULTS, RESULTS_INVERSE, SPAN, RESULT_SPAN, MATRIX, PASS };

// What MATRIX says where an axis has the subtraction basis, whose map needs no matrix.
#define CLOSED_FORM (-1)

static __device__ double as_double(Word word)
{
    union { Word word; double number; } bits;
    bits.word = word;
    return bits.number;
}

// number / divisor for inverse = ceil(2^31 / divisor), exact as long as number * divisor < 2^31.
static __device__ unsigned quotient(unsigned number, Word inverse)
{
    return (unsigned)(((unsigned long long)(2u * number) * (unsigned long long)inverse) >> 32);
}

// One entry of a tensor, given its row (over all tables of the block and all axes but the last) and column.
static __device__ double entry(const Word* description, const Word* rows, unsigned row, unsigned column)
{
    const Word axes = description[AXES], *axis = description + HEADER + (axes - 1) * AXIS;
    unsigned subset = 0, coordinate = column;
    Word place = 0, size = 1;
    for (Word left = axes; left > 0; --left, axis -= AXIS) {
        if (left < axes) {
            const unsigned above = quotient(row, axis[LENGTH_INVERSE]);
            coordinate = row - above * (unsigned)axis[LENGTH];
            row = above;
        }
        if (coordinate > 0) {  // an answer of a subset that has this attribute; entry 0 is of one that has not
            subset |= (unsigned)axis[BIT];
            place += (coordinate - 1) * size;
            size *= axis[LENGTH] - 1;
        }
    }
    const Word* source = description + HEADER + axes * AXIS + subset * SUBSET;
    const Word position = rows[row * description[SUBSETS] + subset] * size + place;
    const Word answer = ((const Word*)source[ADDRESS])[position];
    return (source[IS_INTEGER] ? (double)answer : as_double(answer)) / as_double(source[DIVISOR]);
}

static __device__ void gather(const Word* description, const Word* rows, unsigned tables, double* tensor)
{
    const unsigned pitch = (unsigned)description[PITCH];
    const unsigned length = (unsigned)description[HEADER + (description[AXES] - 1) * AXIS + LENGTH];
    const unsigned cells = tables * (unsigned)description[CELLS];
    for (unsigned cell = threadIdx.x; cell < cells; cell += blockDim.x) {
        const unsigned row = quotient(cell, description[PITCH_INVERSE]), column = cell - row * pitch;
        tensor[cell] = column < length ? entry(description, rows, row, column) : 0.0;
    }
}

// The inverse of a row of ones above the subtraction matrix, spec eq. (13): each thread maps whole lines in place.
static __device__ void rebuild(const Word* pass, unsigned tables, double* tensor)
{
    const unsigned columns = (unsigned)pass[COLUMNS], inner = (unsigned)pass[INNER];
    const unsigned lines = tables * (unsigned)pass[OUTER] * inner;
    for (unsigned line = threadIdx.x; line < lines; line += blockDim.x) {
        const unsigned outer = quotient(line, pass[INNER_INVERSE]);
        double* const start = tensor + outer * (unsigned)pass[SPAN] + (line - outer * inner);
        double sum = start[0];
        for (unsigned column = 1; column < columns; ++column)
            sum += start[column * inner];
        const double first = sum / columns;
        start[0] = first;
        for (unsigned column = 1; column < columns; ++column)
            start[column * inner] = first - start[column * inner];
    }
}

// Any other map, by its transposed matrix: each thread makes single entries of the result.
static __device__ void multiply(const Word* pass, const Word* matrix, unsigned tables, const double* tensor,
                                double* result)
{
    const unsigned columns = (unsigned)pass[COLUMNS], rows = (unsigned)pass[ROWS], inner = (unsigned)pass[INNER];
    const unsigned entries = tables * (unsigned)pass[OUTER] * (unsigned)pass[RESULTS];
    for (unsigned number = threadIdx.x; number < entries; number += blockDim.x) {
        const unsigned outer = quotient(number, pass[RESULTS_INVERSE]);
        const unsigned within = number - outer * (unsigned)pass[RESULTS];
        const unsigned row = quotient(within, pass[INNER_INVERSE]), place = within - row * inner;
        const double* const start = tensor + outer * (unsigned)pass[SPAN] + place;
        double sum = 0.0;
        for (unsigned column = 0; column < columns; ++column)
            sum += as_double(matrix[column * rows + row]) * start[column * inner];
        result[outer * (unsigned)pass[RESULT_SPAN] + row * inner + place] = sum;
    }
}

static __device__ void scatter(const Word* description, unsigned tables, const double* tensor, double* estimates)
{
    const unsigned last = (unsigned)description[LAST], pitch = (unsigned)description[PITCH];
    const unsigned cells = tables * (unsigned)description[ESTIMATES];
    for (unsigned cell = threadIdx.x; cell < cells; cell += blockDim.x) {
        const unsigned row = quotient(cell, description[LAST_INVERSE]);
        estimates[cell] = tensor[row * pitch + (cell - row * last)];
    }
}

// description: as above.  rows (tables, subsets): the row of each table's answers among those of each subset.
// estimates (tables, ESTIMATES): the result.
extern "C" __global__ void __launch_bounds__(1024)
fused_tables(const Word* __restrict__ description, const Word* __restrict__ rows, Word tables,
             double* __restrict__ estimates)
{
    extern __shared__ double memory[];
    const Word first = (Word)blockIdx.x * description[TABLES];
    const unsigned here = (unsigned)(tables - first < description[TABLES] ? tables - first : description[TABLES]);
    const Word* pass = description + HEADER + description[AXES] * AXIS + description[SUBSETS] * SUBSET;
    const Word* const matrices = pass + description[PASSES] * PASS;
    double *tensor = memory, *other = memory + description[OTHER];

    gather(description, rows + first * description[SUBSETS], here, tensor);
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

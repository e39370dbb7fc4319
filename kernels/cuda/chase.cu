// A chain of dependent loads: each word holds the address of the next. No header is used, so that
// the PTX stays old.
//
// clang-format off
// | function | arguments | what it does |
// |---|---|---|
// | railgauge_chase | state (u64*), accesses (u32), block (u32) | thread 0 of block `block` loads `accesses` times: p = *p, from p = *state, and stores the last p in *state; all other blocks do nothing |
// clang-format on
using Address = unsigned long long;

// `block` chooses the multiprocessor: one block runs on each. The loads are volatile: the
// first-level cache, which would answer instead of the memory, is not asked.
extern "C" __global__ void railgauge_chase(Address* state, unsigned accesses, unsigned block) {
  if (blockIdx.x != block || threadIdx.x != 0) return;
  Address at = *state;
#pragma unroll 8
  for (unsigned i = 0; i < accesses; ++i) at = *reinterpret_cast<const volatile Address*>(at);
  *state = at;
}

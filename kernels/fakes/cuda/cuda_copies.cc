// The fake driver's copies.
#include <cstring>
#include <vector>

#include "kernels/fakes/cuda/cuda_objects.h"

namespace railgauge::fake {
namespace {

// NOLINTBEGIN(performance-no-int-to-ptr): addresses are numbers in this interface
void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }
// NOLINTEND(performance-no-int-to-ptr)
std::uintptr_t number(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

// Words, such as what a comparison found, are left alone.
constexpr std::size_t kWord = 8;
void flip(void* memory, std::size_t bytes, bool wanted) {
  if (wanted && bytes > kWord) static_cast<unsigned char*>(memory)[bytes / 2] ^= 1U;
}

// Whether this asynchronous copy is the one that shall not be done.
bool is_dropped(std::uintptr_t to, std::uintptr_t from) {
  CudaControl& control = cuda_control();
  const bool to_gpu = is_on_gpu(to, 1);
  if (to_gpu == is_on_gpu(from, 1)) return false;
  return to_gpu ? ++control.copies_to_gpu == control.drop_to_gpu
                : ++control.copies_to_host == control.drop_to_host;
}

}  // namespace

void copy_bytes(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) {
  if (store_to_team(to, from, bytes)) return;
  std::memmove(pointer(to), pointer(from), bytes);
  flip(pointer(to), bytes, cuda_control().flip_byte != 0);
}

}  // namespace railgauge::fake

using railgauge::fake::cuda_control;
using railgauge::fake::enter_context;
using railgauge::fake::may_touch;
using railgauge::fake::memory_at;
using railgauge::fake::queue_of;
namespace fake = railgauge::fake;

#define RAILGAUGE_ENTER \
  if (const cu::Return failed = enter_context(__func__); failed != cu::kSuccess) return failed

// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

cu::Return cuMemcpyHtoD_v2(cu::DevicePtr to, const void* from, std::size_t bytes) {
  RAILGAUGE_ENTER;
  fake::settle_writes();
  if (!memory_at(to, bytes) || !may_touch(fake::number(from), bytes)) return cu::kInvalidValue;
  queue_of(nullptr)->wait_idle(fake::kHangSeconds);
  if (bytes > fake::kWord && !fake::begin_copy(nullptr)) return cu::kSuccess;
  std::memcpy(fake::pointer(to), from, bytes);
  fake::flip(fake::pointer(to), bytes, cuda_control().flip_synchronous != 0);
  return cu::kSuccess;
}

cu::Return cuMemcpyDtoH_v2(void* to, cu::DevicePtr from, std::size_t bytes) {
  RAILGAUGE_ENTER;
  fake::settle_writes();
  if (!memory_at(from, bytes) || !may_touch(fake::number(to), bytes)) return cu::kInvalidValue;
  queue_of(nullptr)->wait_idle(fake::kHangSeconds);
  if (bytes > fake::kWord && !fake::begin_copy(nullptr)) return cu::kSuccess;
  std::memcpy(to, fake::pointer(from), bytes);
  fake::flip(to, bytes, cuda_control().flip_synchronous != 0);
  return cu::kSuccess;
}

cu::Return cuMemcpyAsync(cu::DevicePtr to, cu::DevicePtr from, std::size_t bytes,
                         cu::Stream stream) {
  RAILGAUGE_ENTER;
  fake::settle_writes();
  if (!may_touch(to, bytes) || !may_touch(from, bytes)) return cu::kInvalidValue;
  if (fake::is_dropped(to, from)) return cu::kSuccess;
  const auto queue = queue_of(stream);
  // On the default stream a copy only serves a comparison.
  if (stream != nullptr && !fake::begin_copy(stream)) return cu::kSuccess;
  fake::delay_copy(*queue, to, from);
  if (memory_at(from, 1)) {
    queue->push([to, from, bytes] { fake::copy_bytes(to, from, bytes); });
  } else {  // memory that is not pinned: the driver has taken its bytes when this returns
    const auto* begin = static_cast<const char*>(fake::pointer(from));
    queue->push([to, staged = std::vector<char>(begin, begin + bytes)] {
      fake::copy_bytes(to, fake::number(staged.data()), staged.size());
    });
  }
  // To memory that is not pinned the call returns when the bytes are there.
  if (!memory_at(to, 1)) queue->wait_idle(fake::kHangSeconds);
  return cu::kSuccess;
}

cu::Return cuMemsetD8_v2(cu::DevicePtr to, unsigned char value, std::size_t bytes) {
  RAILGAUGE_ENTER;
  fake::settle_writes();
  if (!memory_at(to, bytes)) return cu::kInvalidValue;
  queue_of(nullptr)->wait_idle(fake::kHangSeconds);
  std::memset(fake::pointer(to), value, bytes);
  return cu::kSuccess;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

// A GPU that answers flags: a one-thread kernel polls a word of GPU memory and answers each new
// value into pinned host memory, where the CPU sees it. The gated form polls a word of host memory
// that the CPU sets, then looks at the word of GPU memory once and answers. The third form passes
// data beside each flag.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kernels/core/base/result.h"
#include "kernels/gpu/device.h"
#include "kernels/gpu/device_code.h"
#include "kernels/gpu/handles.h"
#include "kernels/memory/pinned_buffer.h"

namespace railgauge::gpu {

// The data beside a flag: a value's words are a part of one array of the CPU, so that neither side
// makes them anew. Values that follow each other share no word at any place.
inline constexpr std::uint32_t kDataTurns = 64;
inline constexpr std::uint32_t kDataWordsOfTurn = 16;
// Returns the array for messages of `words` words: value V has the `words` from
// V % kDataTurns * kDataWordsOfTurn on.
std::vector<std::uint32_t> passed_data(std::uint32_t words);

// Owns the kernel while it runs. Use on one thread.
class AnsweringGpu {
 public:
  // `gpu` outlives this object, and its context is current. The kernel waits for a value at least
  // as long as the CPU does, `stall_ns`. kUnimplemented without device code.
  static Result<AnsweringGpu> create(const Gpu& gpu, double stall_ns);
  AnsweringGpu(AnsweringGpu&&) = default;
  AnsweringGpu& operator=(AnsweringGpu&&) = delete;
  ~AnsweringGpu() { static_cast<void>(end()); }

  // Launches the kernel for the values `first`, `first` + 1, ... of the word at `flag`. The answer
  // becomes `first` - 1 once the kernel polls. It ends after `rounds` answers, at end(), or when a
  // value is missing for longer than the stall limit.
  Status begin(cu::DevicePtr flag, std::uint32_t first, std::uint32_t rounds);
  // Launches the gated form: each answer waits for open_gate(value). The word at `flag` must hold
  // the value by then, or it counts as stale.
  Status begin_gated(cu::DevicePtr flag, std::uint32_t first, std::uint32_t rounds);
  // The places of a ping-pong with data. Addresses are the GPU's; `answer` 0 is the own pinned
  // word.
  struct Pass {
    cu::DevicePtr flag = 0;
    cu::DevicePtr answer = 0;
    cu::DevicePtr data = 0;
    std::uint32_t words = 0;
    bool gpu_writes = false;  // before each answer; else it compares before each answer
    std::uint32_t threads = 1;
  };
  // Launches the form with data, of one block: see begin().
  Status begin_passing(const Pass& pass, std::uint32_t first, std::uint32_t rounds);
  // Returns the words of data since begin_passing() that the GPU found to be others. Call after
  // end().
  [[nodiscard]] std::uint32_t wrong_words() const;
  // Lets the gated kernel look at the flag for `value`.
  void open_gate(std::uint32_t value);
  // Returns the number of answers since begin_gated() that saw an older word. Call after end().
  [[nodiscard]] std::uint32_t stale() const;
  // Returns the address of the answer in pinned memory; its lowest byte changes with each value.
  [[nodiscard]] const std::uint8_t* answer() const;
  // Reports whether the kernel ended by its own idle limit before it answered `last`.
  [[nodiscard]] bool gave_up_before(std::uint32_t last) const;
  // Ends the kernel and waits until it has ended: memory in its use must stay until then.
  Status end();

  // Returns the form of the device code, for a fact.
  [[nodiscard]] const std::string& image() const { return code_.image(); }
  // Returns all words of pinned memory that the kernel uses.
  [[nodiscard]] std::span<std::byte> words() const { return words_.span(); }

 private:
  AnsweringGpu(const Gpu& gpu, double stall_ns);

  // Words of pinned memory, each in its own cache line.
  enum class Word : std::uint8_t { kAnswer, kStop, kGate, kStale, kCount };
  // Address of a word for the CPU.
  [[nodiscard]] std::byte* word(Word which) const;
  // Address of the same word for the kernel.
  [[nodiscard]] cu::DevicePtr word_on_gpu(Word which) const;
  Status launch(cu::Function function, void** arguments, unsigned threads = 1);

  const Gpu* gpu_;
  // Cycles of the GPU's clock for which the kernel waits for a value.
  unsigned long long idle_cycles_;
  LoadedCode code_;
  cu::Function polls_flag_ = nullptr;
  cu::Function waits_for_gate_ = nullptr;
  cu::Function passes_data_ = nullptr;
  PinnedBuffer words_;
  Stream stream_;
  Event ended_;
  // A kernel was launched and end() has not been called.
  bool runs_ = false;
};

}  // namespace railgauge::gpu

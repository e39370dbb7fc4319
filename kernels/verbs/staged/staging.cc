#include "kernels/verbs/staged/staging.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "kernels/core/text/units.h"
#include "kernels/gpu/timing.h"
#include "kernels/verbs/link/memory_choice.h"
#include "kernels/verbs/memory/slots.h"

namespace railgauge::verbs {
namespace {

// Counts and slots begin on cache lines of their own.
constexpr std::uint64_t kLineBytes = 64;
constexpr std::size_t kWordBytes = sizeof(std::uint64_t);
// Offsets of the counts: the peer writes the first two; the rest is written to the peer.
constexpr std::size_t kArrived = 0;
constexpr std::size_t kEmptied = kLineBytes;
constexpr std::size_t kOwnEmptied = 2 * kLineBytes;
constexpr std::size_t kOwnArrived =
    3 * kLineBytes;  // one word a slot: each keeps its value until it is read
constexpr std::uint32_t kSpareSends = 8;

// Up to whole lines.
std::uint64_t rounded(std::uint64_t bytes) {
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

// A slot holds the largest chunk of any size.
std::uint64_t slot_bytes_of(const Staging::Form& form) {
  return rounded(std::min(form.chunk_bytes, *std::ranges::max_element(form.sizes)));
}

// The bytes that the different messages of any size need.
std::uint64_t source_bytes_of(const Staging::Form& form) {
  std::uint64_t most = 0;
  for (const std::uint64_t bytes : form.sizes)
    most =
        std::max(most, rounded(bytes) * chunks_of(bytes, form.chunk_bytes, form.depth).different);
  return most;
}

// Whole messages in memory, `count` of them one after the other.
Slots messages_of(const Chunks& chunks, std::uint64_t count) {
  return {
      .bytes = chunks.message_bytes, .stride_bytes = rounded(chunks.message_bytes), .count = count};
}

}  // namespace

// Enough different messages that no slot of the ring carries the same bytes twice in a row.
Chunks chunks_of(std::uint64_t message_bytes, std::uint64_t chunk_bytes, std::uint32_t depth) {
  Chunks chunks;
  chunks.message_bytes = message_bytes;
  chunks.chunk_bytes = std::min(chunk_bytes, message_bytes);
  chunks.in_message = (message_bytes + chunks.chunk_bytes - 1) / chunks.chunk_bytes;
  chunks.different = std::max<std::uint64_t>(2, depth / chunks.in_message + 1);
  return chunks;
}

std::uint32_t Staging::slots_for(const Form& form, std::uint64_t most) {
  const std::uint64_t smallest = std::min(form.chunk_bytes, *std::ranges::min_element(form.sizes));
  const std::uint64_t wanted = form.bytes_on_way / std::max<std::uint64_t>(1, smallest);
  return std::max(form.depth, static_cast<std::uint32_t>(std::min(wanted, most)));
}

// kUnimplemented: transports that lose chunks, operations that fetch, and sends with one staged
// side.
Status Staging::plan(const Context& context, const Form& form, Link::Options& options) {
  const MemoryChoice& choice = form.memory;
  choose_memory(context, options);
  options.memory.kind = choice.of(context.rank);
  options.inline_bytes = 0;
  if (options.transport != Transport::kRc)
    return fail(Code::kUnimplemented,
                "memory staged: counts its chunks on a reliable connection; take transport RC");
  if (operation_of(options.verb).fetches)
    return fail(
        Code::kUnimplemented,
        fmt::format("memory staged: a {} names the target's memory, whose CPU would have to "
                    "fill the host's copy first; take a write or a send",
                    operation_of(options.verb).words));
  // A send goes where the receive points; for the rings' slots this is known before.
  if (options.verb == Verb::kSend && (choice.initiator != choice.target))
    return fail(Code::kUnimplemented,
                "memory staged: a send is staged on both sides or on none; take a write for one "
                "side alone");
  const bool staged = choice.of(context.rank) == MemoryKind::kStaged;
  options.area_bytes = staged ? form.depth * slot_bytes_of(form) : source_bytes_of(form);
  if (staged) options.memory.kind = MemoryKind::kHost;
  options.extra_access = IBV_ACCESS_REMOTE_WRITE;
  options.largest_bytes = *std::ranges::max_element(form.sizes);
  // A chunk, its count, and the credit for the other direction, with room for completions that are
  // polled late.
  options.send_depth = 4 * form.depth + kSpareSends;
  if (operation_of(options.verb).takes_receive) options.receive_depth = form.depth;
  return {};
}

// The words are registered on both sides, the GPU's part on a staged side alone.
Result<Staging> Staging::open(const Context& context, const Form& form, Link& link) {
  const MemoryChoice& choice = form.memory;
  Staging staging(form, link);
  staging.slot_bytes_ = slot_bytes_of(form);
  staging.peer_is_staged_ = choice.of(1 - context.rank) == MemoryKind::kStaged;
  RG_TRY_OK(staging.make_words());
  if (choice.of(context.rank) == MemoryKind::kStaged) RG_TRY_OK(staging.make_gpu_side(context));
  return staging;
}

Staging::~Staging() {
  if (gpu_ == nullptr) return;
  // Copies may still be on their way, where a task ended early.
  for (const gpu::Stream* stream : {&gpu_->load, &gpu_->drain})
    if (*stream) static_cast<void>(loaded_cuda().stream_synchronize(stream->get()));
}

// One small region for all counts, which the peer writes by RDMA.
Status Staging::make_words() {
  words_ = RG_TRY(HostBuffer::allocate(kOwnArrived + form_.depth * kWordBytes));
  words_region_ = RG_TRY(link_->register_memory(words_.span(), IBV_ACCESS_REMOTE_WRITE));
  link_->mine().set_stage_address(reinterpret_cast<std::uint64_t>(words_.data()));
  link_->mine().set_stage_key(words_region_.get()->rkey);
  return {};
}

// Pins the link's areas, so that copies run at full speed and beside the CPU; two streams let loads
// and drains overlap.
Status Staging::make_gpu_side(const Context& context) {
  gpu_ = std::make_unique<OnGpu>();
  auto users = gpu::gpu_usage();
  const std::uint64_t largest = *std::ranges::max_element(form_.sizes);
  gpu_->memory =
      RG_TRY(Memory::allocate({.kind = MemoryKind::kCuda, .gpu = context.params.text("gpu")},
                              source_bytes_of(form_) + rounded(largest)));
  const gpu::Gpu& gpu = gpu_->memory.gpu();
  link_->watch(gpu, std::move(users));
  const std::span<std::byte> areas = link_->memory().span();
  RG_TRY_OK(gpu_status(
      gpu, loaded_cuda().mem_host_register(areas.data(), areas.size(), cu::kHostRegisterPortable),
      fmt::format("pin {} of host memory", canonical_bytes(areas.size()))));
  gpu_->pinned = PinnedMemory(areas.data());
  gpu_->load = RG_TRY(gpu::make_stream(gpu));
  gpu_->drain = RG_TRY(gpu::make_stream(gpu));
  for (std::uint32_t slot = 0; slot < form_.depth; ++slot) {
    gpu_->loaded.push_back(RG_TRY(gpu::make_event(gpu)));
    gpu_->emptied.push_back(RG_TRY(gpu::make_event(gpu)));
  }
  link_->mine().set_memory(std::string(memory_words(MemoryKind::kStaged)));
  link_->mine().set_path(std::string(memory_words(MemoryKind::kStaged)));
  return {};
}

void Staging::report_facts(Reporter& reporter) const {
  if (gpu_ == nullptr) return;
  report_gpu(gpu_->memory.gpu(), reporter);
  if (is_synthetic()) reporter.fact("synthetic", "true");
}

Area Staging::source() const { return gpu_ ? Area{gpu_->memory, 0} : Area{link_->memory(), 0}; }

Area Staging::target() const {
  return gpu_ ? Area{gpu_->memory, source_bytes_of(form_)}
              : Area{link_->memory(), link_->memory().size() / 2};
}

// Counters run on over all sizes; the size's own begin is kept beside them.
Status Staging::begin_size(std::size_t size_index, std::uint32_t rank) {
  chunks_ = chunks_of(form_.sizes[size_index], form_.chunk_bytes, form_.depth);
  chunks_on_way_ =
      std::clamp<std::uint64_t>(form_.bytes_on_way / chunks_.chunk_bytes, 1, form_.depth);
  goal_ = sent_before_ = loading_;
  drained_before_ = drained_;
  RG_TRY_OK(fill_slots(source(), messages_of(chunks_, chunks_.different), size_index, rank));
  return clear_slots(target(), messages_of(chunks_, 1));
}

Status Staging::renew(std::size_t size_index, std::uint32_t rank) {
  Slots messages = messages_of(chunks_, chunks_.different);
  messages.is_renewed = true;
  return fill_slots(source(), messages, size_index, rank);
}

Status Staging::renew_next(const SlotMessage& message) {
  const std::uint64_t place = (goal_ - sent_before_) / chunks_.in_message % chunks_.different;
  Area area = source();
  area.begin += place * rounded(chunks_.message_bytes);
  Slots one = messages_of(chunks_, 1);
  one.first_number = message.number;
  return fill_slots(area, one, message.size_index, message.rank);
}

// Sends carry buffers, writes with immediate data do not.
Status Staging::give_out_receives() {
  if (!link_->operation().takes_receive) return {};
  const bool has_buffers = link_->operation().verb == Verb::kSend;
  const Slots slots{.bytes = slot_bytes_, .stride_bytes = slot_bytes_, .count = form_.depth};
  if (link_->receives().fill(has_buffers ? slots : Slots{}, link_->receive_area(),
                             link_->local_key(), form_.depth))
    return {};
  return tl::unexpected(link_->waiting().failure());
}

// `chunk` counts from the size's first one on, `number` from the task's.
std::uint64_t Staging::offset_in_message(std::uint64_t chunk) const {
  return chunk % chunks_.in_message * chunks_.chunk_bytes;
}
// The last chunk of a message may be shorter.
std::uint64_t Staging::bytes_of(std::uint64_t chunk) const {
  return std::min(chunks_.chunk_bytes, chunks_.message_bytes - offset_in_message(chunk));
}
// Messages take turns through the different ones.
std::uint64_t Staging::source_offset(std::uint64_t chunk) const {
  return chunk / chunks_.in_message % chunks_.different * rounded(chunks_.message_bytes) +
         offset_in_message(chunk);
}
// The ring's slot of chunk `number`, on either side.
std::uint64_t Staging::slot_offset(std::uint64_t number) const {
  return number % form_.depth * slot_bytes_;
}

// The NIC writes the words, so each read is an acquire.
std::uint64_t Staging::load_word(std::size_t at) const {
  return __atomic_load_n(reinterpret_cast<const std::uint64_t*>(words_.data() + at),
                         __ATOMIC_ACQUIRE);
}

// Step 1: from the GPU into the send ring, asynchronously.
Status Staging::load(std::uint64_t number) {
  if (gpu_ == nullptr) return {};
  const Cuda& cuda = loaded_cuda();
  const std::uint64_t chunk = number - sent_before_;
  const auto slot =
      reinterpret_cast<cu::DevicePtr>(link_->send_area().data()) + slot_offset(number);
  RG_TRY_OK(
      gpu_status(gpu_->memory.gpu(),
                 cuda.memcpy_async(slot, gpu_->memory.gpu_buffer().data() + source_offset(chunk),
                                   bytes_of(chunk), gpu_->load.get()),
                 "copy a chunk to the host"));
  return gpu_status(gpu_->memory.gpu(),
                    cuda.event_record(gpu_->loaded[number % form_.depth].get(), gpu_->load.get()),
                    "mark the end of a chunk's copy");
}

// Step 2: over the wire. A plain write is followed by the count that reports it; both are on one
// queue pair, which keeps their order.
Status Staging::post(std::uint64_t number) {
  const std::uint64_t chunk = number - sent_before_;
  Request request = link_->request(bytes_of(chunk));
  request.sge.addr += gpu_ ? slot_offset(number) : source_offset(chunk);
  if (link_->operation().is_aimed())
    request.wr.wr.rdma.remote_addr +=
        peer_is_staged_ ? slot_offset(number) : offset_in_message(chunk);
  const bool tells = !link_->operation().takes_receive;
  if (!link_->sends().post(request, !tells)) return tl::unexpected(link_->waiting().failure());
  if (!tells) return {};
  const std::size_t word = kOwnArrived + number % form_.depth * kWordBytes;
  const std::uint64_t count = number + 1;
  std::memcpy(words_.data() + word, &count, sizeof count);
  return post_word(word, kArrived);
}

// Writes one count into the peer's words.
Status Staging::post_word(std::size_t from, std::size_t to) {
  Request request = Request::write(words_.data() + from, kWordBytes, words_region_.get(),
                                   link_->peer().stage_address() + to, link_->peer().stage_key());
  if (link_->sends().post(request, true)) return {};
  return tl::unexpected(link_->waiting().failure());
}

// Step 3: from the receive ring into the GPU, asynchronously.
Status Staging::drain(std::uint64_t number) {
  if (gpu_ == nullptr) return {};
  const Cuda& cuda = loaded_cuda();
  const std::uint64_t chunk = number - drained_before_;
  const auto slot =
      reinterpret_cast<cu::DevicePtr>(link_->receive_area().data()) + slot_offset(number);
  const cu::DevicePtr to =
      gpu_->memory.gpu_buffer().data() + target().begin + offset_in_message(chunk);
  RG_TRY_OK(gpu_status(gpu_->memory.gpu(),
                       cuda.memcpy_async(to, slot, bytes_of(chunk), gpu_->drain.get()),
                       "copy a chunk from the host"));
  return gpu_status(gpu_->memory.gpu(),
                    cuda.event_record(gpu_->emptied[number % form_.depth].get(), gpu_->drain.get()),
                    "mark the end of a chunk's copy");
}

// Never blocks. Without a GPU there is no copy to wait for.
Result<bool> Staging::is_done(const std::vector<gpu::Event>& events, std::uint64_t number) const {
  if (gpu_ == nullptr) return true;
  const cu::Return returned = loaded_cuda().event_query(events[number % form_.depth].get());
  if (returned == cu::kNotReady) return false;
  RG_TRY_OK(gpu_status(gpu_->memory.gpu(), returned, "ask whether a chunk's copy has ended"));
  return true;
}

// Loads chunks as far as the peer's credit permits, and posts loaded ones in order.
Result<bool> Staging::send_on() {
  const std::uint64_t before = loading_ + posted_ + credit_;
  credit_ = load_word(kEmptied);
  for (; loading_ < goal_ && loading_ < credit_ + chunks_on_way_; ++loading_)
    RG_TRY_OK(load(loading_));
  static const std::vector<gpu::Event> kNone;
  while (posted_ < loading_ && RG_TRY(is_done(gpu_ ? gpu_->loaded : kNone, posted_)))
    RG_TRY_OK(post(posted_++));
  return loading_ + posted_ + credit_ != before;
}

// Drains what has arrived and reports the emptied slots to the sender.
Result<bool> Staging::receive_on() {
  if (link_->operation().takes_receive && link_->receives().take(true) < 0)
    return tl::unexpected(link_->waiting().failure());
  const std::uint64_t came =
      link_->operation().takes_receive ? link_->receives().arrived() : load_word(kArrived);
  const std::uint64_t before = draining_ + drained_;
  for (; draining_ < came; ++draining_) RG_TRY_OK(drain(draining_));
  static const std::vector<gpu::Event> kNone;
  const std::uint64_t had = drained_;
  while (drained_ < draining_ && RG_TRY(is_done(gpu_ ? gpu_->emptied : kNone, drained_)))
    ++drained_;
  if (drained_ != had) {
    // One word is enough: a count that is read late is a later count, and true as well.
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(words_.data() + kOwnEmptied), drained_,
                     __ATOMIC_RELEASE);
    RG_TRY_OK(post_word(kOwnEmptied, kEmptied));
  }
  return draining_ + drained_ != before;
}

// The sends' completions are polled first, so that the queue never fills.
Result<bool> Staging::progress() {
  if (link_->sends().poll() < 0) return tl::unexpected(link_->waiting().failure());
  const bool received = RG_TRY(receive_on());
  const bool sent = RG_TRY(send_on());
  return received || sent;
}

// The last message alone is still in memory; the earlier ones were overwritten.
Status Staging::verify(std::size_t size_index, std::uint32_t from, std::uint64_t messages) {
  if (messages == 0) return {};
  Slots last = messages_of(chunks_, 1);
  last.first_number = (messages - 1) % chunks_.different;
  last.is_renewed = true;
  return verify_slots(target(), last, size_index, from, 0,
                      {link_->device().endpoint(), link_->operation().words});
}

}  // namespace railgauge::verbs

#include "agent/busy/kubelet.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <map>

#include <fmt/format.h>

#include "agent/busy/readers.h"
#include "kernels/core/text/text.h"

namespace railgauge::agent {
namespace {
constexpr const char* kMethod = "/v1.PodResourcesLister/List";
constexpr int kMostAnswerBytes = 16 << 20;  // the kubelet's own limit

// Makes a unary call without a generated stub. `deadline` ends it in any case.
grpc::Status call(grpc::Channel& channel, double deadline_seconds, grpc::ByteBuffer& answer) {
  grpc::GenericStub stub(std::shared_ptr<grpc::Channel>(&channel, [](grpc::Channel*) {}));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::microseconds(static_cast<long long>(deadline_seconds * 1e6)));
  grpc::CompletionQueue queue;
  const grpc::Slice nothing("");
  const auto reader =
      stub.PrepareUnaryCall(&context, kMethod, grpc::ByteBuffer(&nothing, 1), &queue);
  reader->StartCall();
  grpc::Status status;
  reader->Finish(&answer, &status, nullptr);
  void* tag = nullptr;
  bool ok = false;
  queue.Next(&tag, &ok);
  return status;
}
}  // namespace

std::vector<PodDevice> devices_of(const kubelet::ListAnswer& answer) {
  std::vector<PodDevice> devices;
  for (const kubelet::Pod& pod : answer.pods()) {
    std::map<std::string, std::size_t> counts;
    for (const kubelet::Container& container : pod.containers()) {
      for (const kubelet::Devices& given : container.devices())
        counts[given.resource()] += static_cast<std::size_t>(given.ids_size());
      for (const kubelet::Claim& claim : container.claims())
        for (const kubelet::ClaimedDevice& device : claim.devices()) ++counts[device.driver()];
    }
    for (const auto& [resource, count] : counts)
      devices.push_back({one_line(fmt::format("{}/{}", pod.namespace_(), pod.name())),
                         one_line(resource), count});
  }
  return devices;
}

Result<std::vector<PodDevice>> list_pod_devices(const std::string& socket,
                                                double deadline_seconds) {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMostAnswerBytes);
  arguments.SetString(GRPC_ARG_DEFAULT_AUTHORITY, "localhost");
  const auto channel =
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
  grpc::ByteBuffer bytes;
  const grpc::Status status = call(*channel, deadline_seconds, bytes);
  if (!status.ok())
    return fail(Code::kUnavailable,
                fmt::format("{}: list pods' devices: {}; the agent needs the kubelet's socket, "
                            "readable (root, or its folder mounted into the agent's pod)",
                            socket, valid_utf8(status.error_message())));
  grpc::Slice text;
  kubelet::ListAnswer answer;
  if (!bytes.DumpToSingleSlice(&text).ok() ||
      !answer.ParseFromArray(text.begin(), static_cast<int>(text.size())))
    return fail(Code::kDataLoss, fmt::format("{}: list pods' devices: {} bytes that are no answer",
                                             socket, text.size()));
  return devices_of(answer);
}

}  // namespace railgauge::agent

/* A compiled model in C++17: loads a library that hone made, and checks types and shapes of what it is given.
 *
 *     hone::model net("out/net.so");
 *     std::vector<float> x(3 * 224 * 224);
 *     auto y = net.run({hone::tensor::of({1, 3, 224, 224}, x.data())});
 *     const float *scores = y[0].data<float>();
 *
 * What goes wrong is a hone::error. One thread at a time calls a model; any number may be open. Link with -ldl where the C library wants it. */
#ifndef HONE_HPP
#define HONE_HPP
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>
extern "C" {
#include "op/hone_value.h"
#include "runner/model_abi.h"
#ifndef HONE_OPTS /* a model's own header has it, too */
#define HONE_OPTS
struct hone_opts {
	int threads;
};
#endif
}

namespace hone {

struct error : std::runtime_error {
	using std::runtime_error::runtime_error;
};

/* The name of an element type, and ONNX's number of it. */
struct dtype {
	const char *name;
	int number;
	std::size_t bytes;
};
inline constexpr dtype dtypes[] = {{"f32", 1, 4}, {"u8", 2, 1},   {"i8", 3, 1},   {"u16", 4, 2}, {"i16", 5, 2},   {"i32", 6, 4}, {"i64", 7, 8},
				   {"bool", 9, 1}, {"f16", 10, 2}, {"f64", 11, 8}, {"u32", 12, 4}, {"u64", 13, 8}, {"bf16", 16, 2}};
inline const dtype &dtype_of(const std::string &name)
{
	for (const dtype &t : dtypes)
		if (name == t.name)
			return t;
	throw error("the type " + name + " is for C alone");
}
template <class T> const dtype &dtype_of()
{
	constexpr bool is_float = std::is_floating_point_v<T>, is_signed = std::is_signed_v<T>;
	static_assert(std::is_arithmetic_v<T> && sizeof(T) <= 8, "a number of C++");
	return dtype_of(std::is_same_v<T, bool> ? "bool" : (is_float ? "f" : is_signed ? "i" : "u") + std::to_string(8 * sizeof(T)));
}

/* A tensor: elements in row-major order, its own or (view) the caller's. Without a type: an input that is not given. */
struct tensor {
	const dtype *type = nullptr;
	std::vector<std::int64_t> shape;
	std::vector<unsigned char> own;
	const void *view = nullptr;

	template <class T> static tensor of(std::vector<std::int64_t> shape, const T *elements) { return {&dtype_of<T>(), std::move(shape), {}, elements}; }
	std::size_t count() const
	{
		std::size_t n = 1;
		for (std::int64_t extent : shape)
			n *= static_cast<std::size_t>(extent);
		return n;
	}
	const void *bytes() const { return view ? view : own.data(); }
	template <class T> const T *data() const
	{
		if (!type || type->number != dtype_of<T>().number)
			throw error(std::string("elements are ") + (type ? type->name : "not there") + ", not " + dtype_of<T>().name);
		return static_cast<const T *>(bytes());
	}
};

class model {
public:
	explicit model(const std::string &library, std::string weights = "", int threads = 0)
	{
		hone_opts opts = {threads};
		if (weights.empty())
			weights = library.substr(0, library.rfind(".so")) + ".weights";
		/* a path without a slash would be looked for elsewhere */
		so = dlopen((library.find('/') == std::string::npos ? "./" + library : library).c_str(), RTLD_NOW | RTLD_LOCAL);
		table = so ? static_cast<const hone_model *>(dlsym(so, "hone_model")) : nullptr;
		std::string why = !so ? dlerror() : !table ? library + ": not a library made by hone" : "";
		if (table && table->abi != HONE_MODEL_ABI)
			why = library + ": made by another version of hone";
		else if (table && !(handle = table->open(weights.c_str(), &opts)))
			why = table->error();
		if (!handle && so)
			dlclose(so);
		if (!handle)
			throw error(why);
	}
	~model()
	{
		table->close(handle);
		dlclose(so);
	}
	model(const model &) = delete;
	model &operator=(const model &) = delete;

	int num_inputs() const { return table->num_inputs; }
	int num_outputs() const { return table->num_outputs; }
	const hone_tensor &input(int i) const { return table->inputs[i]; }
	const hone_tensor &output(int i) const { return table->outputs[i]; }
	/* States that the library keeps are again what they were at first. */
	void reset() { check(table->num_states ? table->reset(handle) : 0); }

	/* The outputs; those that the library keeps as states are empty. */
	std::vector<tensor> run(const std::vector<tensor> &given)
	{
		if (given.size() > static_cast<std::size_t>(table->num_inputs))
			throw error("more inputs than the model has");
		for (std::size_t i = 0; i < given.size(); i++)
			if (given[i].type)
				check_input(given[i], table->inputs[i]);
		return table->run_values ? run_values(given) : run_fixed(given);
	}

private:
	void *so = nullptr, *handle = nullptr;
	const hone_model *table = nullptr;

	void check(int status) const
	{
		if (status)
			throw error(table->error());
	}
	static void check_input(const tensor &x, const hone_tensor &want)
	{
		bool fits = want.rank < 0 || static_cast<std::size_t>(want.rank) == x.shape.size();
		for (int k = 0; fits && k < want.rank; k++)
			fits = want.shape[k] < 0 || want.shape[k] == x.shape[k];
		if (std::string(want.type) != x.type->name)
			throw error(std::string("input ") + want.name + ": " + x.type->name + ", not " + want.type);
		if (!fits)
			throw error(std::string("input ") + want.name + ": another shape than the model's");
	}
	bool is_kept(int output) const
	{
		for (int i = 0; i < table->num_states; i++)
			if (table->states[i].output == output)
				return true;
		return false;
	}
	std::vector<tensor> run_fixed(const std::vector<tensor> &given)
	{
		std::vector<const void *> in(static_cast<std::size_t>(table->num_inputs) + 1);
		std::vector<void *> out(static_cast<std::size_t>(table->num_outputs) + 1);
		std::vector<tensor> made(static_cast<std::size_t>(table->num_outputs));
		for (std::size_t i = 0; i < given.size(); i++)
			in[i] = given[i].type ? given[i].bytes() : nullptr;
		for (int k = 0; k < table->num_outputs; k++) {
			const hone_tensor &t = table->outputs[k];
			if (is_kept(k))
				continue;
			made[k] = {&dtype_of(t.type), {t.shape, t.shape + t.rank}, std::vector<unsigned char>(t.bytes), nullptr};
			out[k] = made[k].own.data();
		}
		check(table->run(handle, in.data(), out.data()));
		return made;
	}
	std::vector<tensor> run_values(const std::vector<tensor> &given)
	{
		std::vector<hone_value> in(static_cast<std::size_t>(table->num_inputs) + 1), out(static_cast<std::size_t>(table->num_outputs) + 1);
		std::vector<tensor> made(static_cast<std::size_t>(table->num_outputs));
		for (std::size_t i = 0; i < given.size(); i++)
			if (given[i].type)
				in[i] = {given[i].type->number, static_cast<int>(given[i].shape.size()), given[i].shape.data(), const_cast<void *>(given[i].bytes())};
		check(table->run_values(handle, in.data(), out.data(), nullptr));
		for (int k = 0; k < table->num_outputs; k++) {
			if (is_kept(k))
				continue;
			made[k] = {&dtype_of(table->outputs[k].type), {out[k].shape, out[k].shape + out[k].rank}, {}, nullptr};
			made[k].own.resize(made[k].count() * made[k].type->bytes);
			if (!made[k].own.empty())
				std::memcpy(made[k].own.data(), out[k].data, made[k].own.size());
		}
		return made;
	}
};

} // namespace hone
#endif

// For each module <n>.wasm of a directory:
//   <n>.v8            what V8, which knows the legacy encoding, makes of it: per input one byte (0 returned, 1 threw,
//                     2 trapped) and the hash as 8 bytes, least significant first
//   <n>.binaryen.wasm Binaryen's translation of it
// Usage: node exceptions.mjs <directory> <modules> <inputs> <file of binaryen's module>
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [directory, modules, inputs, binaryenFile] = process.argv.slice(2);
const { default: binaryen } = await import(pathToFileURL(binaryenFile));
const payloads = [["i32"], [], ["i64", "i32"], ["i32", "i32"]];
const U64 = (1n << 64n) - 1n;

function mix(hash, value) {
  hash = ((hash ^ value) * 0x9e3779b97f4a7c15n) & U64;
  return ((hash << 29n) | (hash >> 35n)) & U64;
}

function run(wasm) {
  const instance = new WebAssembly.Instance(new WebAssembly.Module(wasm));
  const { run, hash, ...rest } = instance.exports;
  const tags = payloads.map((_, index) => rest[`t${index}`]);
  const result = new DataView(new ArrayBuffer(9 * Number(inputs)));
  for (let input = 0; input < Number(inputs); input++) {
    let ending = 0;
    let error;
    try {
      run(input);
    } catch (caught) {
      error = caught;
    }
    let value = hash.value & U64;
    if (error instanceof WebAssembly.RuntimeError) {
      ending = 2;
    } else if (error instanceof WebAssembly.Exception) {
      ending = 1;
      const index = tags.findIndex((tag) => error.is(tag));
      value = mix(value, BigInt(index));
      payloads[index].forEach((type, field) => {
        const argument = BigInt(error.getArg(tags[index], field));
        value = mix(value, BigInt.asUintN(type === "i64" ? 64 : 32, argument));
      });
    } else if (error !== undefined) {
      throw error;
    }
    result.setUint8(9 * input, ending);
    result.setBigUint64(9 * input + 1, value, true);
  }
  return new Uint8Array(result.buffer);
}

function translate(wasm) {
  const module = binaryen.readBinary(wasm);
  module.setFeatures(binaryen.Features.All);
  module.runPasses(["translate-to-exnref"]);
  const translated = module.emitBinary();
  module.dispose();
  return translated;
}

for (let number = 0; number < Number(modules); number++) {
  const wasm = readFileSync(join(directory, `${number}.wasm`));
  writeFileSync(join(directory, `${number}.v8`), run(wasm));
  writeFileSync(join(directory, `${number}.binaryen.wasm`), translate(wasm));
}

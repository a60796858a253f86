// What the two Node drivers share: one line per step, every value as text, so that two runs can be compared.
exports.print = (step, answer) => process.stdout.write(JSON.stringify({ step: step.slice(0, 200), ...answer }) + '\n');

exports.plain = function plain(value) {
  if (value === null || value === undefined) return null;
  if (Buffer.isBuffer(value)) return value.toString('hex');
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object') return value.affectedRows === undefined ? JSON.stringify(value) : `affected ${value.affectedRows}`;
  return String(value);
};

const blobs = new Map();
exports.blob = (size) => {
  if (!blobs.has(size)) blobs.set(size, '0123456789abcdef'.repeat(Math.ceil(size / 16)).slice(0, size));
  return blobs.get(size);
};

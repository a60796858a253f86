<?php
// Laravel's database layer with the page's .env and migration, behind one that creates the table.
require '/usr/share/php/Illuminate/Database/autoload.php';

use Illuminate\Container\Container;
use Illuminate\Database\Capsule\Manager;
use Illuminate\Support\Facades\DB;
use Illuminate\Support\Facades\Facade;

$env = parse_ini_file('env');
$container = new Container();
$manager = new Manager($container);
$manager->addConnection([
    'driver' => $env['DB_CONNECTION'], 'host' => $env['DB_HOST'], 'port' => $env['DB_PORT'], 'database' => $env['DB_DATABASE'],
    'username' => $env['DB_USERNAME'], 'password' => $env['DB_PASSWORD'], 'charset' => 'utf8mb4',
]);
$container->instance('db', $manager->getDatabaseManager());
Facade::setFacadeApplication($container);
$manager->getConnection()->getSchemaBuilder()->create('sessions', function ($table) {
    $table->id();
    $table->timestamps();
});
eval('use Illuminate\Support\Facades\DB; $migration = new class { ' . file_get_contents('migration.php') . ' };');
$migration->up();
